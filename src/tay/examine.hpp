// SPDX-License-Identifier: MIT OR Apache-2.0
// Looking at a whole snapshot, as `verify`, `info` and `state` do: the log pass, then replay.
#pragma once

#include <functional>
#include <optional>

#include "tay/job_table.hpp"
#include "tay/snapshot.hpp"

namespace varve::tay {

struct ExamineRequest {
  Policy policy = Policy::report;
  bool replay = true;
  unsigned threads = 1;
  Budgets budgets;
  bool retained_given = false;                  // see ReadBudgets
  std::function<void(const Refusal&)> refused;  // each refusal, in order; may be empty
  std::function<void(const Finding&)> warned;   // likewise
  std::function<void(std::uint64_t done)> progress;
  // See LogPassOptions. Replay needs all records: it is off if this is not empty.
  std::vector<ProvenRun> proven;
};

struct Examination {
  std::vector<Segment> segments;
  LogTotals totals;
  JobTable jobs;                 // of all events that could be applied
  std::optional<Refusal> first;  // what the format's own recovery would say

  Verdict verdict() const { return first ? first->verdict : Verdict::clean; }
};

Result<Examination> examine(const Snapshot& snapshot, const ExamineRequest& request);

// The options of a pass over the snapshot's segments for a reader without the lock.
LogPassOptions reading_options(const Snapshot& snapshot, const Budgets& budgets, unsigned threads);

}  // namespace varve::tay
