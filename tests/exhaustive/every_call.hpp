// SPDX-License-Identifier: MIT OR Apache-2.0
// The n-th input/output call of a writer fails, once and for good, for each n and each kind of
// failure. Whatever happens then, nothing that was acknowledged may be lost: neither for the next
// process on the same machine, nor after the power fails on top of it.
#pragma once

#include <string>
#include <vector>

#include "tests/exhaustive/every_crash.hpp"

namespace varve::test {

struct CallOptions {
  io::CallMask calls = io::k_all_calls;
  std::vector<io::FaultKind> kinds = {io::FaultKind::io_error, io::FaultKind::no_space,
                                      io::FaultKind::short_write};
  // Crash states looked at behind each failure; 0: only the restart of the process.
  std::uint64_t crash_candidates = 200;
  std::uint64_t stride = 1;  // a failure at each call; 2: at every other one
};

struct CallOutcome {
  std::uint64_t calls = 0;   // that the writer makes when nothing fails
  std::uint64_t runs = 0;    // with a fault
  std::uint64_t states = 0;  // looked at
  std::uint64_t problems = 0;
  std::string first_problem;

  void add_row(Table& table, const std::string& operation) const {
    table.add_row({operation, calls, runs, states, problems});
  }
  static Table make_table(const std::string& title) {
    return Table(title, {"operation", "calls", "runs with a failure", "states looked at",
                         "states that broke a promise"});
  }
};

// The writer must come back from every failure by itself (it returns early, and promises only what
// is so). A read-only run can be tested too: it promises nothing and checks itself.
template <WritesAStore Run, ChecksAStore Check>
CallOutcome every_call(const io::simulated::Image& image, Run run, Check check,
                       const CallOptions& options = {}) {
  CallOutcome outcome;
  const auto note = [&](const io::Fault& fault, const std::string& where,
                        const std::string& problem) {
    ++outcome.states;
    if (!problem.empty() && outcome.problems++ == 0) {
      outcome.first_problem = std::string(to_text(fault.kind)) + " at call " +
                              std::to_string(fault.call) + (fault.for_good ? " for good" : "") +
                              ", " + where + ": " + problem;
    }
  };
  {
    io::SimulatedFileSystem files(image, {});
    files.set_trace(true);
    Promises promises(files);
    run(files, promises);
    for (const io::Call& call : files.trace()) {
      outcome.calls += (options.calls & mask_of(call.kind)) != 0 ? 1 : 0;
    }
  }
  for (std::uint64_t call = 0; call < outcome.calls; call += options.stride) {
    for (const io::FaultKind kind : options.kinds) {
      for (const bool for_good : {false, true}) {
        const io::Fault fault{call, kind, for_good, options.calls};
        io::SimulatedFileSystem files(image, {});
        files.settle();
        Promises promises(files);
        files.set_fault(fault);
        run(files, promises);
        files.set_fault(std::nullopt);
        ++outcome.runs;
        const io::simulated::Recording recording = files.recording();
        const Claim claim{promises.acknowledged(), promises.completed(), false};
        note(fault, "next process", check(files, claim));
        if (options.crash_candidates == 0) {
          continue;
        }
        io::CrashOptions crash;
        crash.only_last_point = true;
        crash.kills = false;
        crash.max_candidates = options.crash_candidates;
        for_each_crash(recording, crash, [&](const io::CrashState& state) {
          const auto after = state.restart();
          note(fault, to_text(state.selection),
               check(*after, Claim{state.marks[0], state.marks[1], true}));
          return true;
        });
      }
    }
  }
  return outcome;
}

}  // namespace varve::test
