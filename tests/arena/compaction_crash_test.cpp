// SPDX-License-Identifier: MIT OR Apache-2.0
// Every crash and every failing call of a compaction during which frames are appended: the old or
// the new generation is whole, and holds every acknowledged frame.
#include "compaction_support.hpp"
#include "crash_checks.hpp"

namespace varve::arena {
namespace {

using namespace test;

constexpr std::uint64_t k_before = 12;
constexpr std::uint64_t k_meanwhile = 2;
constexpr std::uint64_t k_after = 2;
constexpr std::uint64_t k_all = k_before + k_meanwhile + k_after;

std::vector<std::string> transactions() {
  Transactions source(5, false);
  std::vector<std::string> out;
  while (out.size() < k_all) {
    out.push_back(source.next());
  }
  return out;
}

struct Compact {
  std::vector<std::string> payloads = transactions();
  // The state behind each number of transactions.
  std::vector<std::vector<std::string>> states;

  io::simulated::Image image() {
    io::SimulatedFileSystem files;
    put_store(files, k_compacted);
    auto journal = must_open(files, "/store", k_compacted);
    std::optional<io::simulated::Image> before;
    for (std::uint64_t i = 0; i <= k_all; ++i) {
      if (i == k_before) {
        EXPECT_TRUE(journal->close().has_value());
        files.settle();
        before = files.image();
        journal = must_open(files, "/store", k_compacted);
      }
      states.push_back(state_lines(files, "/store"));
      if (i < k_all) {
        EXPECT_TRUE(append(*journal, payloads[i]).has_value());
      }
    }
    return *before;
  }

  void operator()(io::SimulatedFileSystem& files, Promises& promises) const {
    promises.acknowledge(k_before);
    auto journal = open_journal(files, "/store", quiet_options(), k_compacted);
    if (!journal) {
      return;
    }
    BusySource source(files, **journal,
                      {payloads.begin() + k_before, payloads.begin() + k_before + k_meanwhile},
                      [&](std::uint64_t appended) { promises.acknowledge(k_before + appended); });
    (void)(*journal)->compact(source);
    // Whether or not it succeeded, the journal goes on, or says that it cannot.
    for (std::uint64_t i = k_before + source.appended; i < k_all; ++i) {
      if (!append(**journal, payloads[i])) {
        return;
      }
      promises.acknowledge(i + 1);
    }
  }

  // CURRENT, if it is there, names a directory with a manifest and a segment.
  static std::string check_pointer(io::SimulatedFileSystem& files) {
    const std::string arena = "/store/vectors_data.bin/";
    const auto pointer = files.get(arena + "CURRENT");
    if (!pointer) {
      return files.get(arena + "seg_0.bin") ? "" : "no CURRENT, and no segments of the old log";
    }
    const std::string live = arena + std::string(base::as_text(*pointer));
    return files.get(live + "/format.json") && files.get(live + "/seg_0.bin")
               ? ""
               : "CURRENT names what is not whole: " + live;
  }

  std::string check(io::SimulatedFileSystem& files, const Claim& claim) const {
    if (std::string problem = check_pointer(files); !problem.empty()) {
      return problem;
    }
    auto journal = open_journal(files, "/store", quiet_options(), k_compacted);
    if (!journal) {
      if (journal.error().reason == "corrupt-committed" && claim.power_cut) {
        ++tally->strict;
        return "";
      }
      return "refused: " + journal.error().text();
    }
    ++tally->opened;
    const auto found = state_lines(files, "/store");
    const auto match = std::ranges::find(states.begin() + static_cast<std::ptrdiff_t>(claim.owed()),
                                         states.end(), found);
    if (match == states.end()) {
      return "the state is not that of " + std::to_string(claim.owed()) + " transactions or more";
    }
    const auto reached = static_cast<std::uint64_t>(match - states.begin());
    // It can be compacted, which leaves nothing of the interrupted run, and goes on.
    if (const auto done = (*journal)->compact(); !done || !done->warning.empty()) {
      return "cannot be compacted: " + (done ? done->warning : done.error().text());
    }
    if ((*files.open_directory("/store/vectors_data.bin"))->list()->size() != 3) {
      return "leftovers beside format.json, CURRENT and the generation";
    }
    if (reached < k_all && !append(**journal, payloads[reached])) {
      return "cannot be appended to";
    }
    return state_lines(files, "/store") == states[std::min(reached + 1, k_all)]
               ? ""
               : "the state after a compaction is another";
  }

  Tally* tally = nullptr;
};

TEST(ArenaCompactionCrashes, EveryOne) {
  Tally tally;
  Compact run;
  run.tally = &tally;
  const auto image = run.image();
  const auto check = [&](io::SimulatedFileSystem& files, const Claim& claim) {
    return run.check(files, claim);
  };
  const CrashOutcome outcome = every_crash(image, run, check, crash_options());
  EXPECT_EQ(outcome.problems, 0U) << outcome.first_problem;
  EXPECT_GT(outcome.report.states, 50U);
  auto table = CrashOutcome::make_table("arena: compaction against every crash");
  outcome.add_row(table, "compact, with appends meanwhile and after");
  table.add_note(tally.text());
  EXPECT_TRUE(table.publish("arena-compaction-crash"));
}

TEST(ArenaCompactionCrashes, EveryFailingCall) {
  Tally tally;
  Compact run;
  run.tally = &tally;
  const auto image = run.image();
  const auto check = [&](io::SimulatedFileSystem& files, const Claim& claim) {
    return run.check(files, claim);
  };
  CallOptions options = call_options();
  options.crash_candidates = varve::test::small_run() ? 1 : 2;
  const CallOutcome outcome = every_call(image, run, check, options);
  EXPECT_EQ(outcome.problems, 0U) << outcome.first_problem;
  EXPECT_GT(outcome.calls, 50U);
  auto table = CallOutcome::make_table("arena: compaction against every failing call");
  outcome.add_row(table, "compact, with appends meanwhile and after");
  table.add_note(tally.text());
  EXPECT_TRUE(table.publish("arena-compaction-call"));
}

}  // namespace
}  // namespace varve::arena
