// SPDX-License-Identifier: MIT OR Apache-2.0
// Files that another process cuts, extends or replaces while they are read: "try again" or a
// smaller horizon, never a signal and never false damage.
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <thread>

#include "base/bytes.hpp"
#include "io/simulated.hpp"
#include "view_support.hpp"

namespace varve::jss::test {
namespace {

using varve::test::ScratchDirectory;
using varve::test::write_file;

// Runs an action when the first batch arrives.
class InterruptingSink final : public BatchSink {
 public:
  explicit InterruptingSink(std::function<void()> action) : action_(std::move(action)) {}
  Result<bool> consume(Batch batch) override {
    if (rows == 0) {
      action_();
    }
    rows += batch.rows;
    return true;
  }
  std::uint64_t rows = 0;

 private:
  std::function<void()> action_;
};

TEST(JssLive, AFileCutWhileItIsReadIsAnErrorAndNoDamage) {
  VARVE_REQUIRE_SHARED();
  for (const char* name : {"before_rewrite.jss", "active.jss"}) {
    for (const std::uint64_t size : {0ULL, 100ULL, 300ULL, 900ULL}) {
      const ScratchDirectory scratch;
      const fs::path path = varve::test::copy_tree(
          varve::test::shared_path("fixtures/jss/" + std::string(name)), scratch / "live.jss");
      const auto view = open_view(path);
      InterruptingSink sink([&] { fs::resize_file(path, size); });
      FindingList findings;
      ScanRequest request;
      request.threads = 1;
      const auto summary = view->scan(request, sink, findings);
      ASSERT_FALSE(summary.has_value()) << name << " " << size;
      EXPECT_EQ(summary.error().code, ErrorCode::locked);
      EXPECT_EQ(summary.error().reason, "changed-while-reading");
      EXPECT_EQ(findings.errors(), 0U);
    }
  }
}

TEST(JssLive, WhatIsAppendedLaterLiesBehindTheHorizon) {
  VARVE_REQUIRE_SHARED();
  for (const char* name : {"before_rewrite.jss", "active.jss"}) {
    const ScratchDirectory scratch;
    const fs::path path = varve::test::copy_tree(
        varve::test::shared_path("fixtures/jss/" + std::string(name)), scratch / "live.jss");
    const auto view = open_view(path);
    const std::string whole = varve::test::read_file(path);
    write_file(path, whole + "bytes of another process that appends");
    EXPECT_EQ(verify_view(*view).report.verdict, Verdict::clean) << name;
    EXPECT_EQ(scan_lines(*view).summary.verdict, Verdict::clean) << name;
  }
}

// Another process that cuts the file somewhere and writes the rest again, without pause.
class BusyWriter {
 public:
  BusyWriter(fs::path path, std::string whole)
      : path_(std::move(path)), whole_(std::move(whole)), thread_([this](std::stop_token stop) {
          std::uint64_t state = 9;
          while (!stop.stop_requested()) {
            state = state * 6364136223846793005 + 1442695040888963407;
            rewrite_from(256 + (state >> 33) % (whole_.size() - 256));
          }
        }) {}

 private:
  void rewrite_from(std::size_t cut) const {
    std::FILE* file = std::fopen(path_.c_str(), "r+b");
    fs::resize_file(path_, cut);
    std::fseek(file, static_cast<long>(cut), SEEK_SET);
    std::fwrite(whole_.data() + cut, 1, whole_.size() - cut, file);
    std::fclose(file);
  }

  const fs::path path_;
  const std::string whole_;
  std::jthread thread_;
};

// A writer appends, tears and cuts its tail again and again while readers verify: they see whole
// rows, a torn tail or "try again", never damage.
TEST(JssLive, NoFalseDamageBesideABusyWriter) {
  VARVE_REQUIRE_SHARED();
  const ScratchDirectory scratch;
  const std::string whole =
      varve::test::read_file(varve::test::shared_path("fixtures/jss/active.jss"));
  const fs::path path = scratch / "seg_0000000000.jss";
  write_file(path, whole);
  BusyWriter writer(path, whole);
  int answers = 0;
  for (int round = 0; round < 300; ++round) {
    const auto view = format().open(io::posix_file_system(), path.string(), {});
    if (!view) {
      EXPECT_EQ(view.error().code, ErrorCode::locked);
      continue;
    }
    FindingList findings;
    const auto report = (*view)->verify({}, findings);
    if (!report) {
      EXPECT_EQ(report.error().code, ErrorCode::locked) << report.error().text();
      continue;
    }
    ++answers;
    EXPECT_NE(report->verdict, Verdict::damaged);
    if (report->verdict == Verdict::damaged) {
      ADD_FAILURE() << findings.findings().at(0).code << findings.findings().at(0).offset;
      break;
    }
  }
  EXPECT_GT(answers, 0);
}

// A reader and, before one of its calls, another process that changes the file. Deterministic:
// every call of the reader in turn.
struct Meddled {
  bool met = false;  // the call was reached
  Result<VerifyReport> report = VerifyReport{};
  Result<ScanSummary> summary = ScanSummary{};
  std::uint64_t rows = 0;
};

constexpr std::uint64_t k_never = UINT64_MAX;

Meddled read_while(const std::string& content, std::uint64_t call,
                   const std::function<void(io::SimulatedFileSystem&)>& meddle) {
  Meddled out;
  for (const bool verify : {true, false}) {
    io::SimulatedFileSystem files;
    EXPECT_TRUE(files.put("/live.jss", base::as_bytes(content)));
    const auto view = format().open(files, "/live.jss", {});
    EXPECT_TRUE(view);
    std::uint64_t calls = 0;
    files.set_hook([&](const io::Call&) {
      if (calls++ == call) {
        meddle(files);
        out.met = true;
      }
    });
    FindingList findings;
    if (verify) {
      VerifyRequest request;
      request.threads = 1;
      out.report = (*view)->verify(request, findings);
    } else {
      InterruptingSink sink([] {});
      ScanRequest request;
      request.threads = 1;
      out.summary = (*view)->scan(request, sink, findings);
      out.rows = sink.rows;
    }
    files.set_hook(nullptr);
  }
  return out;
}

TEST(JssLive, ACutBeforeAnyCallIsTryAgainOrASmallerHorizon) {
  VARVE_REQUIRE_SHARED();
  for (const char* name : {"before_rewrite.jss", "active.jss"}) {
    const std::string whole =
        varve::test::read_file(varve::test::shared_path("fixtures/jss/" + std::string(name)));
    const Meddled uncut = read_while(whole, k_never, {});
    std::uint64_t noticed = 0;
    for (std::uint64_t size = 0; size < whole.size(); size += 61) {
      const Meddled cut = read_while(whole.substr(0, size), k_never, {});
      bool met = true;
      for (std::uint64_t call = 0; met; ++call) {
        SCOPED_TRACE(std::string(name) + " cut to " + std::to_string(size) + " before call " +
                     std::to_string(call));
        const Meddled seen = read_while(
            whole, call, [size](auto& files) { (void)files.set_size("/live.jss", size); });
        met = seen.met;
        if (seen.report) {
          EXPECT_TRUE(seen.report->verdict == Verdict::clean ||
                      seen.report->verdict == cut.report->verdict)
              << to_text(seen.report->verdict);
        } else {
          EXPECT_EQ(seen.report.error().code, ErrorCode::locked) << seen.report.error().text();
          ++noticed;
        }
        if (seen.summary) {
          EXPECT_TRUE(seen.rows == uncut.rows || seen.rows == cut.rows) << seen.rows;
        } else {
          EXPECT_EQ(seen.summary.error().code, ErrorCode::locked) << seen.summary.error().text();
        }
      }
    }
    EXPECT_GT(noticed, 10U) << name;
  }
}

TEST(JssLive, GrowthBeforeAnyCallIsUnseen) {
  VARVE_REQUIRE_SHARED();
  for (const char* name : {"before_rewrite.jss", "active.jss"}) {
    const std::string whole =
        varve::test::read_file(varve::test::shared_path("fixtures/jss/" + std::string(name)));
    const std::uint64_t rows = read_while(whole, k_never, {}).rows;
    bool met = true;
    for (std::uint64_t call = 0; met; ++call) {
      SCOPED_TRACE(std::string(name) + " before call " + std::to_string(call));
      const Meddled seen = read_while(whole, call, [&](auto& files) {
        (void)files.put("/live.jss", base::as_bytes(whole + "what another process appends"));
      });
      met = seen.met;
      ASSERT_TRUE(seen.report && seen.summary);
      EXPECT_EQ(seen.report->verdict, Verdict::clean);
      EXPECT_EQ(seen.summary->verdict, Verdict::clean);
      EXPECT_EQ(seen.rows, rows);
    }
  }
}

// The program itself beside a process that cuts and extends the file without pause.
TEST(JssLive, TheProgramEndsWithoutSignalAndWithoutFalseDamage) {
  VARVE_REQUIRE_SHARED();
  if (std::string_view(VARVE_TEST_TOOL).empty()) {
    GTEST_SKIP() << "the program is not built";
  }
  const ScratchDirectory scratch;
  const std::string whole =
      varve::test::read_file(varve::test::shared_path("fixtures/jss/active.jss"));
  const fs::path path = scratch / "seg_0000000000.jss";
  write_file(path, whole);
  BusyWriter writer(path, whole);
  const std::uint64_t rounds = varve::test::scaled(48);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (const char* verb : {"verify", "cat"}) {
      const auto result = varve::test::run_tool({verb, path.string()});
      const bool fine = result.exit_code == 0 || result.exit_code == 1 || result.exit_code == 75;
      ASSERT_TRUE(fine) << verb << " gave " << result.exit_code << "\n" << result.out << result.err;
    }
  }
}

TEST(JssLive, AMemberReplacedByARewriteIsTakenAsItIsNow) {
  VARVE_REQUIRE_SHARED();
  const ScratchDirectory scratch;
  const fs::path path = scratch / "seg_0000000000.jss";
  varve::test::copy_tree(varve::test::shared_path("fixtures/jss/before_rewrite.jss"), path);
  const auto view = open_view(scratch.path());
  EXPECT_EQ(scan_lines(*view).lines.size(), 16U);
  varve::test::copy_tree(varve::test::shared_path("fixtures/jss/after_rewrite_by_upstream.jss"),
                         scratch / "seg_0000000000.jss.tmp");
  fs::rename(scratch / "seg_0000000000.jss.tmp", path);
  const Scanned scanned = scan_lines(*view);
  EXPECT_EQ(scanned.lines.size(), 9U);
  EXPECT_EQ(scanned.summary.verdict, Verdict::clean);
}

}  // namespace
}  // namespace varve::jss::test
