// SPDX-License-Identifier: MIT OR Apache-2.0
// Every state that a crash may leave of a mirror's directory: what is in place is what the server
// has, and the next round completes it.
#include "io/fixed_environment.hpp"
#include "serve/mirror.hpp"
#include "tests/exhaustive/every_crash.hpp"
#include "tests/serve/remote_support.hpp"

namespace varve::serve::test {
namespace {

using varve::test::Claim;
using varve::test::Promises;

class MirrorCrash : public ::testing::Test {
 protected:
  Result<MirrorReport> mirror(io::SimulatedFileSystem& files) {
    io::FixedEnvironment environment(0, 0, ++seed_);  // names that no earlier run has used
    MirrorOptions options;
    options.part_bytes = 2 << 10;
    options.threads = 1;
    VARVE_ASSIGN(const auto mirror, Mirror::open(files, environment, server_.url(), "/copy",
                                                 quick_options(), std::move(options)));
    return mirror->round();
  }

  // What is wrong with the segments that are in place, or nothing.
  std::string wrong(io::SimulatedFileSystem& files, bool all) {
    for (const char* name : {"seg_0000000000.jss", "seg_0000000001.jss"}) {
      const std::string now = varve::test::read_file(archive_ / name);
      const auto bytes = files.get("/copy/" + std::string(name));
      const std::string there = bytes ? std::string(base::as_text(*bytes)) : std::string();
      const bool known = there == now || there == before_[name];
      if ((bytes && !known) || (all && there != now)) {
        return std::string(name) + (bytes ? " holds something else" : " is missing");
      }
    }
    return {};
  }

  std::uint64_t seed_ = 0;
  ScratchDirectory scratch_;
  std::filesystem::path archive_ = make_archive(scratch_ / "archive", {2, 240, 40, 9});
  std::map<std::string, std::string> before_;  // segments of an earlier round
  ArchiveServer server_{archive_};
};

TEST_F(MirrorCrash, WhatIsInPlaceIsWholeAndTheNextRoundCompletesIt) {
  io::simulated::Image empty;
  varve::test::CrashOutcome outcomes[2];
  for (const bool replacing : {false, true}) {
    io::SimulatedFileSystem first(empty, {});
    if (replacing) {
      ASSERT_TRUE(mirror(first));
      for (const char* name : {"seg_0000000000.jss", "seg_0000000001.jss"}) {
        before_[name] = varve::test::read_file(archive_ / name);
      }
      ASSERT_TRUE(jss::compact(io::posix_file_system(), archive_.string()));
    }
    std::uint64_t states = 0;
    io::CrashOptions options;
    options.max_candidates = varve::test::scaled(4000);
    outcomes[replacing ? 1 : 0] = varve::test::every_crash(
        first.image(),
        [&](io::SimulatedFileSystem& files, Promises& promises) {
          EXPECT_TRUE(mirror(files));
          promises.acknowledge(1);
        },
        [&](io::SimulatedFileSystem& files, const Claim& claim) -> std::string {
          if (auto problem = wrong(files, claim.owed() == 1); !problem.empty()) {
            return problem;
          }
          if (++states % 16 != 0) {
            return {};
          }
          const auto again = mirror(files);
          return again ? wrong(files, true) : again.error().text();
        },
        options);
  }
  for (const auto& outcome : outcomes) {
    EXPECT_EQ(outcome.problems, 0U) << outcome.first_problem;
    EXPECT_GT(outcome.report.states, 20U);
  }
}

}  // namespace
}  // namespace varve::serve::test
