// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/scan_plan.hpp"

#include <numeric>
#include <utility>

namespace varve::jss {

bool unreadable(const SegmentHead& head) {
  return head.fault && head.fault->verdict == Verdict::unknown;
}

Result<MemberPlan> plan_member(Archive& archive, std::size_t member, const RowQuery& query,
                               const PlanOptions& options) {
  MemberPlan plan;
  const SegmentHead& head = archive.members()[member].head;
  if (head.state == SegmentState::sealed) {
    plan.skip = skip_by_header(head.header, query);
    if (plan.skip != SkipReason::none) {
      VARVE_ASSIGN(const bool believed, archive.hash_holds(member));
      if (believed) {
        return plan;
      }
      plan.skip = SkipReason::none;
    }
  }
  VARVE_ASSIGN(plan.segment,
               archive.open_segment(member, options.walk.max_memory_bytes, options.strict));
  if (unreadable(plan.segment->head)) {
    return plan;
  }
  VARVE_ASSIGN(plan.walk, walk_segment(*plan.segment->file, plan.segment->head,
                                       plan.segment->footer.get(), options.walk));
  if (plan.segment->trusted()) {
    VARVE_ASSIGN(plan.selection, select_blocks(*plan.segment, query));
    plan.frames = plan.selection.blocks;
    if (plan.selection.segment_bloom_denies) {
      plan.skip = SkipReason::bloom;
    }
    return plan;
  }
  plan.frames.resize(plan.walk.frames.size());
  std::iota(plan.frames.begin(), plan.frames.end(), 0U);
  return plan;
}

}  // namespace varve::jss
