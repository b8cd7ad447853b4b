// SPDX-License-Identifier: MIT OR Apache-2.0
// Reading a store while its writer goes on: whatever the moment, nothing is called hurt that is
// not. VARVE_LIVE_READS sets how many looks a format gets (default 250; 2,500 by hand).
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "tests/damage/field_path.hpp"
#include "tests/damage/salvage_checks.hpp"
#include "tests/support.hpp"

namespace varve::test {
namespace {

std::uint64_t reads() {
  const char* text = std::getenv("VARVE_LIVE_READS");
  const std::uint64_t otherwise = small_run() ? 25 : 250;
  return text == nullptr ? otherwise : parse_number(text).value_or(otherwise);
}

// The lines of one transaction or record, by its number from 1.
std::vector<std::string> lines_of(const std::string& format, std::uint64_t n) {
  const std::string number = std::to_string(n);
  if (format == "arena") {
    return {"{\"payload\":{\"$bytes\":\"" + std::string(4 * (1 + n % 700), 'A') + "\"}}"};
  }
  if (format == "kladde") {
    const std::string id = std::to_string(1 + n % 7);
    return {"{\"op\":\"resize\",\"id\":" + id + ",\"size\":" + std::to_string(100 + n % 5000) + "}",
            "{\"op\":\"write\",\"id\":" + id + ",\"offset\":" + std::to_string(n % 90) +
                ",\"bytes\":{\"$bytes\":\"" + std::string(4 * (1 + n % 400), 'B') + "\"}}"};
  }
  if (format == "jss") {
    return {"{\"witnessed_at\":" + number +
            ",\"kind\":\"delete\",\"did\":\"did:plc:" + std::to_string(n % 50) +
            "\",\"collection\":\"a.b.c\",\"rkey\":\"" + number + "\",\"rev\":\"r\"}"};
  }
  char id[33];
  std::snprintf(id, sizeof id, "%032llx", static_cast<unsigned long long>(n));
  return {
      R"({"type":"inserted","event":{"at":1000,"definition":{"args":{},"definition_version":1,)"
      R"("max_attempts":10,"queue_key":"default","retry_policy":{"base_ms":1000,"cap_ms":60000,)"
      R"("jitter_divisor":4,"version":1},"scheduled_at":null,"timeout_ms":30000,)"
      R"("worker_key":"mail"},"eligible_at":1000,"expected_revision":0,"job_id":")" +
      std::string(id) + "\"}}"};
}

class LiveStore : public ::testing::TestWithParam<std::string> {
 protected:
  // Appends until told to end, in short sessions with seals between them.
  void write() {
    io::FileSystem& files = io::posix_file_system();
    WriteRequest request;
    request.threads = 1;
    for (std::uint64_t n = 1; !done_;) {
      auto appender = format_.open_appender(files, path_, request);
      ASSERT_TRUE(appender) << appender.error().text();
      for (int i = 0; i < 40 && !done_; ++i, ++n) {
        while (!is_due(n) && !done_) {
          std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
        for (const std::string& line : lines_of(GetParam(), n)) {
          const auto taken = (*appender)->append_line(line);
          ASSERT_TRUE(taken) << taken.error().text();
        }
        const auto written = i % 8 == 7 ? (*appender)->sync() : (*appender)->flush();
        ASSERT_TRUE(written) << written.error().text();
      }
      ASSERT_TRUE((*appender)->end_of_input());
      ASSERT_TRUE((*appender)->close());
      appender->reset();  // lets go of the lock
      written_ = n;
      if (n % 3 == 0 && (GetParam() == "tay" || GetParam() == "jss")) {
        const auto sealed = format_.seal(files, path_, request);
        ASSERT_TRUE(sealed) << sealed.error().text();
      }
    }
  }

  // Record n is written when so many looks were taken that the log does not outgrow them; or, with
  // a pace, a thousand a second.
  bool is_due(std::uint64_t n) const {
    if (!paced_) {
      return n <= 8 * (looks_ + 1);
    }
    return std::chrono::steady_clock::now() - begun_ >= std::chrono::milliseconds(n);
  }

  void make() {
    WriteRequest request;
    request.threads = 1;
    if (GetParam() == "arena") request.options["bare"] = "1";
    if (GetParam() == "jss") fs::create_directory(path_);
    const auto made = format_.init(io::posix_file_system(), path_, request);
    ASSERT_TRUE(made) << made.error().text();
  }

  void look(std::uint64_t number) {
    FindingList findings;
    OpenOptions open;
    open.threads = 1 + static_cast<unsigned>(number % 2);
    const auto fine = [](const Error& error) { return error.code == ErrorCode::locked; };
    const auto view = format_.open(io::posix_file_system(), path_, open);
    if (!view) {
      EXPECT_TRUE(fine(view.error())) << view.error().text();
      return;
    }
    Verdict verdict = Verdict::clean;
    std::vector<std::string> lines;
    std::optional<Error> error;
    if (number % 3 == 0) {
      const auto report = (*view)->verify({}, findings);
      report ? void(verdict = report->verdict) : void(error = report.error());
    } else {
      ScanRequest request;
      // An arena whose payloads may be any bytes has no state.
      const bool has_state = GetParam() != "arena";
      request.face = number % 3 == 1 || !has_state ? Face::log : Face::state;
      request.threads = open.threads;
      LineSink sink(**view, request.face, lines);
      const auto summary = (*view)->scan(request, sink, findings);
      summary ? void(verdict = summary->verdict) : void(error = summary.error());
    }
    if (error) {
      EXPECT_TRUE(fine(*error)) << error->text();
      ++again_;
      return;
    }
    EXPECT_TRUE(verdict == Verdict::clean || verdict == Verdict::torn) << to_text(verdict);
    torn_ += verdict == Verdict::torn ? 1 : 0;
    for (const Finding& finding : findings.findings()) {
      EXPECT_TRUE(finding.severity != Severity::error || finding.verdict == Verdict::torn)
          << finding.code << " @" << finding.offset << ": " << finding.message;
    }
  }

  ScratchDirectory scratch_;
  const Format& format_ = *find_format(GetParam());
  std::string path_ = (scratch_ / ("store_" + GetParam())).string();
  std::atomic<bool> done_ = false;
  std::atomic<std::uint64_t> written_ = 0;
  std::atomic<std::uint64_t> looks_ = 0;
  bool paced_ = false;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::uint64_t torn_ = 0;
  std::uint64_t again_ = 0;
};

TEST_P(LiveStore, NoLookFindsDamageThatIsNone) {
  ASSERT_NO_FATAL_FAILURE(make());
  std::thread writer([this] { write(); });
  for (std::uint64_t i = 0; i < reads() && !HasFailure(); ++i) {
    SCOPED_TRACE("look " + std::to_string(i));
    look(i);
    ++looks_;
  }
  done_ = true;
  writer.join();
  EXPECT_GT(written_, 1U);
  RecordProperty("torn", std::to_string(torn_));
  RecordProperty("try_again", std::to_string(again_));
  std::printf("%s: %llu written, %llu looks, %llu at an unfinished end, %llu told to try again\n",
              GetParam().c_str(), static_cast<unsigned long long>(written_),
              static_cast<unsigned long long>(reads()), static_cast<unsigned long long>(torn_),
              static_cast<unsigned long long>(again_));
  // At rest it is whole.
  EXPECT_EQ(to_text(look_at(format_, io::posix_file_system(), path_).verdict), "clean");
}

TEST_P(LiveStore, VerifyBesideAThousandRecordsASecond) {
  ASSERT_NO_FATAL_FAILURE(make());
  paced_ = true;
  std::thread writer([this] { write(); });
  const std::uint64_t verifies = std::getenv("VARVE_LIVE_READS") != nullptr ? 100 : 20;
  for (std::uint64_t i = 0; i < verifies && !HasFailure(); ++i) {
    SCOPED_TRACE("verify " + std::to_string(i));
    look(3 * i);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  done_ = true;
  writer.join();
  std::printf("%s: %llu written, %llu verifies\n", GetParam().c_str(),
              static_cast<unsigned long long>(written_), static_cast<unsigned long long>(verifies));
  EXPECT_GT(written_, 1U);
  EXPECT_EQ(to_text(look_at(format_, io::posix_file_system(), path_).verdict), "clean");
}

INSTANTIATE_TEST_SUITE_P(Damage, LiveStore, ::testing::Values("arena", "kladde", "tay", "jss"),
                         [](const auto& param) { return param.param; });

}  // namespace
}  // namespace varve::test
