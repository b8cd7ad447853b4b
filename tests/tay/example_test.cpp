// SPDX-License-Identifier: MIT OR Apache-2.0
// The example worker, killed again and again.
#include <set>
#include <sstream>

#include "tests/tay/stores.hpp"
#include "varve/tay.hpp"

namespace varve::tay::test {
namespace {

// The numbers in lines "finished N"; the last line may be cut.
void add_finished(const std::string& out, std::set<unsigned>& finished) {
  std::istringstream lines(out);
  std::string line;
  while (std::getline(lines, line) && !lines.eof()) {
    finished.insert(static_cast<unsigned>(std::stoul(line.substr(line.find(' ') + 1))));
  }
}

TEST(ExampleWorker, SurvivesBeingKilled) {
  const std::string worker = VARVE_TEST_WORKER;
  if (worker.empty()) {
    GTEST_SKIP() << "the examples are not built (VARVE_BUILD_EXAMPLES)";
  }
  constexpr unsigned k_jobs = 150;
  const varve::test::ScratchDirectory scratch;
  const std::string store = (scratch / "jobs").string();
  std::set<unsigned> finished;
  int kills = 0;
  // Ever later, so that creation, insertion and work are each interrupted.
  for (int ms = 1; ms < 400; ms += 1 + ms / 8) {
    char after[16];
    std::snprintf(after, sizeof after, "0.%03d", ms);
    const auto run = varve::test::run_command(
        {"timeout", "-s", "KILL", after, worker, store, std::to_string(k_jobs)});
    const bool killed = run.exit_code == 137;
    ASSERT_TRUE(killed || run.exit_code == 0) << run.exit_code << ": " << run.err;
    kills += killed ? 1 : 0;
    add_finished(run.out, finished);
    // What was told finished is so, whatever the kill left of the rest.
    RecoveryOptions options;
    auto found = recover(io::posix_file_system(), store, options);
    if (!found) {
      ASSERT_TRUE(finished.empty()) << found.error().word;
      continue;
    }
    for (const unsigned number : finished) {
      JobId id{};
      id[14] = std::byte(number >> 8);
      id[15] = std::byte(number & 0xFF);
      const Job* job = found->jobs.find(id);
      ASSERT_NE(job, nullptr) << number;
      EXPECT_EQ(job->state, JobState::completed) << number;
    }
  }
  EXPECT_GT(kills, 0);
  const auto last = varve::test::run_command({worker, store, std::to_string(k_jobs)});
  EXPECT_EQ(last.exit_code, 0) << last.err;
  add_finished(last.out, finished);
  const auto opened = JobStore::open(io::posix_file_system(), store);
  ASSERT_TRUE(opened) << opened.error().text();
  EXPECT_EQ((*opened)->states().value()[static_cast<std::size_t>(JobState::completed)], k_jobs);
}

}  // namespace
}  // namespace varve::tay::test
