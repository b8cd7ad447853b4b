// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/examine.hpp"

#include <utility>

#include "tay/refusal.hpp"
#include "tay/replay.hpp"
#include "tay/v2_root.hpp"

namespace varve::tay {

namespace {

// Section 16's budgets on retained jobs: the format's own engine would keep them in memory.
void judge_retained(const Examination& found, const ExamineRequest& request,
                    const std::function<void(Refusal)>& refuse) {
  const char* limit = exceeded_budget(found.jobs, request.budgets);
  if (limit == nullptr) {
    return;
  }
  Refusal refusal = semantic_refusal(RefusalKind::resource_limit, limit,
                                     "the jobs are charged more than the budget");
  refusal.unit = "store";
  if (request.retained_given) {
    refuse(std::move(refusal));
    return;
  }
  Finding finding = to_finding(refusal);
  finding.severity = Severity::warning;
  finding.message = "the format's own engine with its default budgets would not take so many jobs";
  if (request.warned) {
    request.warned(finding);
  }
}

}  // namespace

LogPassOptions reading_options(const Snapshot& snapshot, const Budgets& budgets, unsigned threads) {
  LogPassOptions options;
  options.policy = Policy::report;
  options.store_id = snapshot.store_id;
  options.live = true;
  options.writer_present = snapshot.lock_held;
  options.threads = threads;
  options.payload_budget = budgets.payload_bytes;
  options.file_prefix = snapshot.segments_prefix;
  return options;
}

Result<Examination> examine(const Snapshot& snapshot, const ExamineRequest& request) {
  Examination out;
  const std::function<void(Refusal)> refuse = [&](const Refusal& refusal) {
    if (!out.first) {
      out.first = refusal;
    }
    if (request.refused) {
      request.refused(refusal);
    }
  };
  for (const Refusal& problem : snapshot.problems) {
    refuse(problem);
  }
  out.segments = snapshot.segments;
  if (!snapshot.segments_directory) {
    return out;
  }
  if (snapshot.v2 && request.policy == Policy::report && request.replay) {
    VARVE_TRY(check_base_digests(snapshot, refuse));
  }
  LogPassOptions options = reading_options(snapshot, request.budgets, request.threads);
  options.policy = request.policy;
  options.refused = refuse;
  options.proven = request.proven;
  options.progress = request.progress;
  VARVE_ASSIGN(LogPassResult walked,
               run_log_pass(*snapshot.segments_directory, out.segments, options));
  out.totals = walked.totals;
  if (snapshot.v2 && request.policy == Policy::report) {
    check_base_coordinates(snapshot, out.segments, refuse);
  }
  if (!request.replay) {
    return out;
  }
  ReplayOptions replay_options;
  replay_options.strict = false;
  replay_options.threads = request.threads;
  replay_options.budgets = request.budgets;
  replay_options.file_prefix = snapshot.segments_prefix;
  replay_options.refused = refuse;
  if (snapshot.v2) {
    replay_options.v2_base_segments = snapshot.v2->manifest.base_segments.size();
  }
  VARVE_TRY(replay(*snapshot.segments_directory, out.segments, replay_options, out.jobs));
  judge_retained(out, request, refuse);
  return out;
}

}  // namespace varve::tay
