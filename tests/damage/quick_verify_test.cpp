// SPDX-License-Identifier: MIT OR Apache-2.0
// `verify --quick` reads headers, footers and tails, and nothing else; what is hurt there it finds.
#include <gtest/gtest.h>

#include "tests/damage/counting_files.hpp"
#include "tests/damage/large_stores.hpp"
#include "varve/store.hpp"

namespace varve::test {
namespace {

struct Look {
  VerifyReport report;
  std::uint64_t read = 0;
  std::size_t findings = 0;
};

Look look(const std::string& format, const std::string& path, bool quick) {
  CountingFileSystem files(io::posix_file_system());
  OpenOptions options;
  options.threads = 1;
  auto view = find_format(format)->open(files, path, options);
  if (!view) {
    ADD_FAILURE() << view.error().text();
    return {};
  }
  VerifyRequest request;
  request.quick = quick;
  request.threads = 1;
  FindingList findings;
  const auto report = (*view)->verify(request, findings);
  if (!report) {
    ADD_FAILURE() << report.error().text();
    return {};
  }
  return {*report, files.take_count(), findings.findings().size()};
}

void flip(const fs::path& path, std::uint64_t offset) {
  std::string bytes = read_file(path);
  ASSERT_LT(offset, bytes.size());
  bytes[offset] = static_cast<char>(bytes[offset] ^ 0x40);
  write_file(path, bytes);
}

class QuickVerify : public testing::TestWithParam<const char*> {
 protected:
  QuickVerify() : store_(GetParam(), scratch_) {
    for (int segment = 0; segment < 3; ++segment) {
      store_.append(20, 40'000);
      store_.close_segment();
    }
    // Readers look twice at the end of what was written a moment ago.
    for (const auto& entry : fs::recursive_directory_iterator(scratch_.path())) {
      if (entry.is_regular_file()) {
        fs::last_write_time(entry.path(), fs::file_time_type::clock::now() - std::chrono::hours(1));
      }
    }
  }
  Look quick() const { return look(GetParam(), store_.path(), true); }

  ScratchDirectory scratch_;
  LargeStore store_;
};

TEST_P(QuickVerify, ReadsLittleOfAWholeStore) {
  const Look full = look(GetParam(), store_.path(), false);
  const Look fast = quick();
  EXPECT_EQ(full.report.verdict, Verdict::clean);
  EXPECT_EQ(fast.report.verdict, Verdict::clean);
  EXPECT_GT(full.read, 1'500'000U);
  EXPECT_LT(fast.read, full.read / 8);
  EXPECT_EQ(fast.report.counts.segments, full.report.counts.segments);
  EXPECT_LE(fast.report.counts.bytes, fast.read + 4096);
}

TEST_P(QuickVerify, FindsAHurtBeginning) {
  const std::string format = GetParam();
  // A byte of the first header: of a frame, of a slot, of a segment.
  fs::path first = store_.newest();
  if (format == "jss") {
    first = fs::path(store_.path()) / "seg_0000000000.jss";
  } else if (format == "tay") {
    first = fs::path(store_.path()) / "segments/00000000000000000001.tay";
  }
  ASSERT_TRUE(fs::exists(first)) << first;
  // arena: comp_len of the first frame; kladde: both slots' epochs.
  flip(first, format == "arena" ? 11 : format == "kladde" ? 50 : 20);
  if (format == "kladde") {
    flip(first, 4096 + 50);
  }
  const Look fast = quick();
  EXPECT_EQ(fast.report.verdict, Verdict::damaged);
  EXPECT_GE(fast.findings, 1U);
}

TEST_P(QuickVerify, FindsAHurtFooterOrTail) {
  const std::string format = GetParam();
  const fs::path last = store_.newest();
  if (format == "jss" || format == "tay") {
    flip(last, fs::file_size(last) - 10);
    EXPECT_EQ(quick().report.verdict, Verdict::damaged);
    return;
  }
  // A log that ends in the middle of its last unit.
  store_.append(1, 40'000);
  if (format == "arena") {
    const std::string bytes = read_file(last);
    const std::size_t end = bytes.find("LDNE");
    ASSERT_NE(end, std::string::npos);
    // The end marker, without which the next header is what it never was.
    std::string hurt = bytes;
    hurt.replace(end - 12, 16, "\x01\x02\x03\x04\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01\x02\x03\x04");
    write_file(last, hurt);
    EXPECT_NE(quick().report.verdict, Verdict::clean);
    return;
  }
  // kladde: a transaction over many pages, of which the last ones are gone.
  const auto size = fs::file_size(last);
  fs::resize_file(last, size - 3 * 4096);
  EXPECT_NE(quick().report.verdict, Verdict::clean);
}

TEST_P(QuickVerify, LooksAtNoPayload) {
  const std::string format = GetParam();
  const fs::path file = store_.newest();
  // In the middle of the only, or the last, segment: payload.
  flip(file, format == "kladde" ? fs::file_size(file) / 2 : format == "arena" ? 500'000 : 300'000);
  EXPECT_EQ(quick().report.verdict, Verdict::clean);
  EXPECT_NE(look(format, store_.path(), false).report.verdict, Verdict::clean);
}

INSTANTIATE_TEST_SUITE_P(Formats, QuickVerify, testing::Values("arena", "kladde", "tay", "jss"),
                         [](const auto& instance) { return std::string(instance.param); });

}  // namespace
}  // namespace varve::test
