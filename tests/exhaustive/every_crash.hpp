// SPDX-License-Identifier: MIT OR Apache-2.0
// All crash states of a writer within the bound of io/crash.hpp.
#pragma once

#include <concepts>
#include <string>
#include <utility>
#include <vector>

#include "io/crash.hpp"
#include "tests/exhaustive/tables.hpp"

namespace varve::test {

// What a writer promises while it runs; put into the recording at once. A writer calls
// `acknowledge` when the format's rules say that so many units are durable, and `complete` when so
// many were written (they must survive a process kill, though not a power cut).
class Promises {
 public:
  explicit Promises(io::SimulatedFileSystem& files) : files_(files) {}
  void acknowledge(std::uint64_t count) {
    acknowledged_ = count;
    files_.mark(count, 0);
    complete(std::max(count, completed_));
  }
  void complete(std::uint64_t count) {
    completed_ = count;
    files_.mark(count, 1);
  }
  std::uint64_t acknowledged() const { return acknowledged_; }
  std::uint64_t completed() const { return completed_; }

 private:
  io::SimulatedFileSystem& files_;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t completed_ = 0;
};

// What a store that came up again must hold at least.
struct Claim {
  std::uint64_t acknowledged = 0;
  std::uint64_t completed = 0;
  bool power_cut = false;  // else a process kill, or a run that ended
  // What must be there: acknowledged units always, completed ones unless the power failed.
  std::uint64_t owed() const { return power_cut ? acknowledged : completed; }
};

// Writes to a file system that was prepared, and promises.
template <class Run>
concept WritesAStore =
    requires(Run run, io::SimulatedFileSystem& files, Promises& promises) { run(files, promises); };

// Looks at (and may recover) a store that came up again: what is wrong, or nothing.
template <class Check>
concept ChecksAStore = requires(Check check, io::SimulatedFileSystem& files, const Claim& claim) {
  { check(files, claim) } -> std::same_as<std::string>;
};

struct CrashOutcome {
  io::CrashReport report;
  std::uint64_t problems = 0;  // states that the check refused
  std::string first_problem;   // with the line that replays it

  void add_row(Table& table, const std::string& operation) const {
    table.add_row({operation, report.points, report.states,
                   report.exhaustive() ? std::string("every one")
                                       : std::to_string(report.sampled_points) + " points sampled",
                   problems});
  }
  static Table make_table(const std::string& title) {
    return Table(title, {"operation", "crash points", "distinct states", "within the bound",
                         "states that broke a promise"});
  }
};

// Runs the writer on `image` and checks each state that a crash during the run may leave.
template <WritesAStore Run, ChecksAStore Check>
CrashOutcome every_crash(const io::simulated::Image& image, Run run, Check check,
                         const io::CrashOptions& options = {}) {
  io::SimulatedFileSystem files(image, {});
  files.settle();
  Promises promises(files);
  run(files, promises);
  CrashOutcome outcome;
  outcome.report = io::for_each_crash(files.recording(), options, [&](const io::CrashState& state) {
    const auto after = state.restart();
    const Claim claim{state.marks[0], state.marks[1], !state.is_kill()};
    const std::string problem = check(*after, claim);
    if (!problem.empty() && outcome.problems++ == 0) {
      outcome.first_problem = to_text(state.selection) + ": " + problem;
    }
    return true;
  });
  return outcome;
}

}  // namespace varve::test
