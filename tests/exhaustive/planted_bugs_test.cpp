// SPDX-License-Identifier: MIT OR Apache-2.0
// The exhaustive tests tested: each planted bug is caught, each corrected writer passes.
#include <gtest/gtest.h>

#include "tests/exhaustive/toy_store.hpp"

namespace varve::test {
namespace {

// Runs the correct and the faulty form of a writer through all crashes.
template <class Writer>
void expect_caught_by_crashes(const std::string& bug, const std::vector<std::string>& names,
                              Table& table) {
  const auto image = empty_store(names);
  const CrashOutcome good = every_crash(image, Writer{false}, Writer::check);
  EXPECT_EQ(good.problems, 0U) << bug << ": " << good.first_problem;
  EXPECT_TRUE(good.report.exhaustive());
  EXPECT_GT(good.report.states, 5U);
  good.add_row(table, "without " + bug);
  const CrashOutcome bad = every_crash(image, Writer{true}, Writer::check);
  EXPECT_GT(bad.problems, 0U) << bug << " was not noticed in " << bad.report.states << " states";
  bad.add_row(table, "with " + bug);
}

TEST(PlantedBugs, AreCaughtByEveryCrash) {
  Table table = CrashOutcome::make_table("Planted writer bugs against every crash");
  expect_caught_by_crashes<NewLog>("a missing directory sync", {}, table);
  expect_caught_by_crashes<Replacement>("a rename before its data", {}, table);
  expect_caught_by_crashes<SummedLog>("a checksum over unsynced bytes", {"log", "sum"}, table);
  expect_caught_by_crashes<MarkedLog>("a marker before its frame", {"log"}, table);
  EXPECT_TRUE(table.publish("planted-bugs-crash"));
}

TEST(PlantedBugs, ARetriedSyncIsCaughtByEveryCall) {
  Table table = CallOutcome::make_table("A retried sync against every failing call");
  const auto image = empty_store({"log"});
  const CallOutcome good = every_call(image, StubbornLog{false}, StubbornLog::check);
  EXPECT_EQ(good.problems, 0U) << good.first_problem;
  EXPECT_EQ(good.calls, 9U);  // one open, four writes, four syncs
  EXPECT_EQ(good.runs, 9U * 3 * 2);
  good.add_row(table, "gives up after a failed sync");
  const CallOutcome bad = every_call(image, StubbornLog{true}, StubbornLog::check);
  EXPECT_GT(bad.problems, 0U);
  EXPECT_NE(bad.first_problem.find("records left of"), std::string::npos) << bad.first_problem;
  bad.add_row(table, "tries a failed sync again");
  EXPECT_TRUE(table.publish("planted-bugs-call"));
}

// Without a failing call a retried sync is harmless, and the crash states say so.
TEST(PlantedBugs, ARetriedSyncNeedsAFailureToShow) {
  const auto image = empty_store({"log"});
  EXPECT_EQ(every_crash(image, StubbornLog{true}, StubbornLog::check).problems, 0U);
}

TEST(PlantedBugs, CorrectWritersPassEveryCall) {
  const CallOutcome log = every_call(empty_store({}), NewLog{}, NewLog::check);
  EXPECT_EQ(log.problems, 0U) << log.first_problem;
  const CallOutcome value = every_call(empty_store({}), Replacement{}, Replacement::check);
  EXPECT_EQ(value.problems, 0U) << value.first_problem;
  const CallOutcome summed = every_call(empty_store({"log", "sum"}), SummedLog{}, SummedLog::check);
  EXPECT_EQ(summed.problems, 0U) << summed.first_problem;
  const CallOutcome marked = every_call(empty_store({"log"}), MarkedLog{}, MarkedLog::check);
  EXPECT_EQ(marked.problems, 0U) << marked.first_problem;
}

TEST(PlantedBugs, TheFirstProblemCanBeReplayed) {
  const auto image = empty_store({});
  const CrashOutcome bad = every_crash(image, NewLog{true}, NewLog::check);
  const auto selection = io::parse_crash(bad.first_problem.substr(0, bad.first_problem.find(':')));
  ASSERT_TRUE(selection) << bad.first_problem;
  io::SimulatedFileSystem files(image, {});
  Promises promises(files);
  NewLog{true}(files, promises);
  const auto state = make_crash(files.recording(), *selection);
  ASSERT_TRUE(state);
  EXPECT_NE(NewLog::check(*state->restart(), Claim{state->marks[0], state->marks[1], true}), "");
}

TEST(PlantedBugs, SameSeedSameStates) {
  const auto run = [](std::uint64_t seed) {
    io::CrashOptions options;
    options.seed = seed;
    options.max_candidates = 200;
    const CrashOutcome outcome =
        every_crash(empty_store({"log"}), MarkedLog{true}, MarkedLog::check, options);
    return std::tuple(outcome.report.states, outcome.problems, outcome.first_problem);
  };
  EXPECT_EQ(run(3), run(3));
}

}  // namespace
}  // namespace varve::test
