// SPDX-License-Identifier: MIT OR Apache-2.0
// Files made to harm a reader: claims of terabytes, bombs, absurd counts.
#include <gtest/gtest.h>

#include "base/checksum.hpp"
#include "base/compression.hpp"
#include "base/endian.hpp"
#include "base/text_coding.hpp"
#include "jss/layout.hpp"
#include "tests/peak_memory.hpp"
#include "view_support.hpp"

namespace varve::jss::test {
namespace {

using varve::test::peak_of;
using varve::test::ScratchDirectory;
using varve::test::write_file;

void put_u32(std::string& s, std::size_t at, std::uint32_t v) { base::store_le(s.data() + at, v); }
void put_u64(std::string& s, std::size_t at, std::uint64_t v) { base::store_le(s.data() + at, v); }

std::string active_header() {
  std::string out(k_header_bytes, '\0');
  out.replace(0, 4, k_magic);
  return out;
}

// Sets the metadata checksum of a sealed file whose fields were changed.
void seal_again(std::string& file) {
  const Header h = load_header(reinterpret_cast<const std::byte*>(file.data()));
  base::Xxh3Stream hash;
  hash.update(base::as_bytes(file).subspan(k_checksum_from, k_header_bytes - k_checksum_from));
  if (h.footer_offset <= file.size()) {
    hash.update(base::as_bytes(file).subspan(h.footer_offset));
  }
  put_u64(file, k_checksum_offset, hash.digest());
}

std::string with_prefix(std::string_view frame) {
  std::string out(8, '\0');
  put_u64(out, 0, frame.size());
  return out += frame;
}

// A frame of run-length blocks of 128 KiB each, without content size or checksum.
std::string bomb(std::size_t blocks) {
  std::string out = "\x28\xb5\x2f\xfd";
  out += '\0';
  out += 'P';  // window 1 MiB
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::uint32_t header = (128U * 1024 << 3) | (1U << 1) | (i + 1 == blocks ? 1U : 0U);
    out += static_cast<char>(header & 0xFF);
    out += static_cast<char>((header >> 8) & 0xFF);
    out += static_cast<char>(header >> 16);
    out += '\0';
  }
  return out;
}

constexpr std::uint64_t k_allowance = 64 << 20;

void expect_finding(const fs::path& path, const std::string& code, Verdict verdict,
                    std::uint64_t cap_bytes, OpenOptions options = {}) {
  options.threads = 1;
  const auto work = [&] {
    const auto view = open_view(path, options);
    VerifyRequest request;
    request.threads = 1;
    const Verified verified = verify_view(*view, request);
    ScanRequest scan;
    scan.threads = 1;
    scan.max_memory_bytes = options.max_memory_bytes;
    scan_lines(*view, scan);
    const auto info = view->info();
    return verified;
  };
  const Verified verified = work();
  ASSERT_NE(verified.first_error(), nullptr);
  EXPECT_EQ(verified.first_error()->code, code) << verified.text();
  EXPECT_EQ(verified.report.verdict, verdict) << verified.text();
  if (!varve::test::address_sanitized() && !varve::test::thread_sanitized()) {
    EXPECT_LT(peak_of(work), cap_bytes + k_allowance);
  }
}

TEST(JssHostile, AFrameThatClaimsATerabyte) {
  const ScratchDirectory scratch;
  // Thirteen bytes: magic, descriptor, eight bytes of content size.
  const std::string frame("\x28\xb5\x2f\xfd\xe0\x00\x00\x00\x00\x00\x01\x00\x00", 13);
  write_file(scratch / "claim.jss", active_header() + with_prefix(frame));
  expect_finding(scratch / "claim.jss", "Decode", Verdict::damaged, 0);
}

TEST(JssHostile, APrefixThatClaimsATerabyte) {
  const ScratchDirectory scratch;
  std::string prefix(8, '\0');
  put_u64(prefix, 0, std::uint64_t{1} << 40);
  write_file(scratch / "claim.jss", active_header() + prefix + "some bytes");
  expect_finding(scratch / "claim.jss", "torn-tail", Verdict::torn, 0);
}

TEST(JssHostile, ABombBehindTheMemoryLimit) {
  const ScratchDirectory scratch;
  write_file(scratch / "bomb.jss", active_header() + with_prefix(bomb(4096)));
  OpenOptions options;
  options.max_memory_bytes = 32 << 20;
  expect_finding(scratch / "bomb.jss", "limit", Verdict::unknown, options.max_memory_bytes,
                 options);
}

TEST(JssHostile, ABombBehindTheFormatsCap) {
  const ScratchDirectory scratch;
  write_file(scratch / "bomb.jss", active_header() + with_prefix(bomb(8193)));  // 1 GiB + 128 KiB
  const auto view = open_view(scratch / "bomb.jss");
  const Verified verified = verify_view(*view);
  ASSERT_NE(verified.first_error(), nullptr);
  EXPECT_EQ(verified.first_error()->code, "Decode");
  EXPECT_EQ(verified.report.verdict, Verdict::damaged);
}

class HostileSealed : public ::testing::Test {
 protected:
  void SetUp() override {
    VARVE_REQUIRE_SHARED();
    file_ = varve::test::read_file(varve::test::shared_path("fixtures/jss/all_kinds.jss"));
  }
  fs::path write() {
    seal_again(file_);
    write_file(scratch_ / "file.jss", file_);
    return scratch_ / "file.jss";
  }
  Header header() const { return load_header(reinterpret_cast<const std::byte*>(file_.data())); }

  ScratchDirectory scratch_;
  std::string file_;
};

TEST_F(HostileSealed, BlockCountOfFourBillion) {
  put_u32(file_, k_block_count_offset, 0xFFFFFFFF);
  expect_finding(write(), "InvalidFooter", Verdict::damaged, 0);
}

TEST_F(HostileSealed, BlockCountAtTheCap) {
  put_u32(file_, k_block_count_offset, k_max_blocks);
  expect_finding(write(), "Read", Verdict::damaged, 0);
}

TEST_F(HostileSealed, BloomsOfEveryAbsurdSize) {
  for (const std::uint32_t size : {0U, 1U, 24U, 0x7FFFFFFFU, 0xFFFFFFFFU}) {
    put_u32(file_, header().block_did_bloom_offset + 4, size);
    expect_finding(write(), "InvalidFooter", Verdict::damaged, 0);
  }
}

TEST_F(HostileSealed, CollectionIndexClaims) {
  const std::uint64_t at = header().collection_index_offset;
  for (const std::size_t field : {0U, 4U, 8U, 12U}) {
    const std::string before = file_;
    put_u32(file_, at + field, 0x40000000);
    const Verified verified = verify_path(write());
    ASSERT_NE(verified.first_error(), nullptr) << field;
    EXPECT_EQ(verified.first_error()->stage, "open");
    EXPECT_EQ(verified.report.intact_records, 12U);
    file_ = before;
  }
}

TEST_F(HostileSealed, AZeroedChecksumIsDamageNotAnActiveFile) {
  const std::string whole = file_;
  for (std::size_t i = 4; i < 12; ++i) {
    file_[i] = '\0';
  }
  write_file(scratch_ / "file.jss", file_);
  const Verified verified = verify_path(scratch_ / "file.jss");
  EXPECT_EQ(verified.report.verdict, Verdict::damaged);
  ASSERT_NE(verified.first_error(), nullptr);
  EXPECT_EQ(verified.first_error()->code, "ChecksumMismatch");
  EXPECT_EQ(verified.first_error()->actual,
            Number::hex64(base::u64le(whole.data() + k_checksum_offset)));
  EXPECT_EQ(verified.report.intact_records, 12U);
  EXPECT_EQ(open_view(scratch_ / "file.jss")->info()->sealed, true);
}

TEST_F(HostileSealed, AFrameWithoutAContentChecksumIsWarnedOf) {
  // The first frame's descriptor with the checksum bit cleared, and its last four bytes moved out.
  const std::uint64_t frame_bytes = base::u64le(file_.data() + 256);
  const std::string body = [&] {
    base::Buffer out;
    EXPECT_EQ(
        base::ZstdDecoder().decode(base::as_bytes(file_).subspan(264, frame_bytes), 1 << 20, out),
        base::CodecStatus::ok);
    return std::string(base::as_text(out.span()));
  }();
  std::string frame("\x28\xb5\x2f\xfd\xa0", 5);
  frame.resize(9);
  put_u32(frame, 5, static_cast<std::uint32_t>(body.size()));
  const std::uint32_t block = static_cast<std::uint32_t>(body.size()) << 3 | 1;
  frame += static_cast<char>(block & 0xFF);
  frame += static_cast<char>((block >> 8) & 0xFF);
  frame += static_cast<char>(block >> 16);
  write_file(scratch_ / "raw.jss", active_header() + with_prefix(frame + body));
  const Verified verified = verify_path(scratch_ / "raw.jss");
  EXPECT_EQ(verified.report.verdict, Verdict::clean) << verified.text();
  ASSERT_EQ(verified.findings.size(), 1U);
  EXPECT_EQ(verified.findings[0].code, "no-content-checksum");
  EXPECT_EQ(verified.findings[0].severity, Severity::warning);
}

// The guard of section 14.2: a flipped bit of a committed prefix must not look like a torn tail.
TEST(JssHostile, ADamagedPrefixIsNotATornTail) {
  VARVE_REQUIRE_SHARED();
  const std::string whole =
      varve::test::read_file(varve::test::shared_path("fixtures/jss/active.jss"));
  const ScratchDirectory scratch;
  std::size_t at = 256;
  for (int block = 0; block < 3; ++block) {
    const std::uint64_t length = base::u64le(whole.data() + at);
    for (unsigned bit = 0; bit < 64; ++bit) {
      std::string hurt = whole;
      hurt[at + bit / 8] = static_cast<char>(hurt[at + bit / 8] ^ (1 << (bit % 8)));
      write_file(scratch / "hurt.jss", hurt);
      const Verified verified = verify_path(scratch / "hurt.jss");
      EXPECT_EQ(verified.report.verdict, Verdict::damaged) << block << " " << bit;
      // The frames themselves are whole, and their structure says where each ends.
      EXPECT_EQ(verified.report.intact_records, 12U) << block << " " << bit << verified.text();
    }
    at += 8 + length;
  }
}

TEST(JssHostile, FramesBehindAHurtPlaceAreFound) {
  VARVE_REQUIRE_SHARED();
  const std::string whole =
      varve::test::read_file(varve::test::shared_path("fixtures/jss/active.jss"));
  const ScratchDirectory scratch;
  // The prefix, the magic and more of block 1 are gone; block 2 is whole.
  std::string hurt = whole;
  const std::size_t at = 264 + base::u64le(whole.data() + 256);
  hurt.replace(at, 40, std::string(40, '\x5a'));
  write_file(scratch / "hurt.jss", hurt);
  const auto view = open_view(scratch / "hurt.jss");
  const Scanned scanned = scan_lines(*view);
  ASSERT_EQ(scanned.findings.size(), 1U);
  EXPECT_EQ(scanned.findings[0].code, "Decode");
  EXPECT_EQ(scanned.findings[0].offset, at);
  EXPECT_EQ(scanned.summary.verdict, Verdict::damaged);
  const std::vector<std::string> all =
      scan_lines(*open_view(varve::test::shared_path("fixtures/jss/active.jss"))).lines;
  EXPECT_GT(scanned.lines.size(), 0U);
  EXPECT_LT(scanned.lines.size(), all.size());
  EXPECT_NE(scanned.lines.back().find("\"seq\":12,"), std::string::npos);
}

// A file of random bytes behind a header: an answer, no crash, in bounded time.
TEST(JssHostile, Garbage) {
  const ScratchDirectory scratch;
  std::uint64_t state = 1;
  for (int round = 0; round < 50; ++round) {
    std::string file = active_header();
    for (int i = 0; i < 3000; ++i) {
      state = state * 6364136223846793005 + 1442695040888963407;
      file += static_cast<char>(state >> 56);
    }
    if (round % 2 == 0) {
      for (std::size_t i = 0; i + 4 < 3000; i += 97) {
        file.replace(256 + i, 4, "\x28\xb5\x2f\xfd");
      }
    }
    write_file(scratch / "garbage.jss", file);
    const auto view = open_view(scratch / "garbage.jss");
    EXPECT_NE(verify_view(*view).report.verdict, Verdict::clean);
    scan_lines(*view);
  }
}

}  // namespace
}  // namespace varve::jss::test
