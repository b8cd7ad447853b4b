// SPDX-License-Identifier: MIT OR Apache-2.0
// What a scan reads of one member, and why: the part that `scan` and `cat --plan` share.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "jss/archive.hpp"
#include "jss/select.hpp"
#include "jss/walker.hpp"

namespace varve::jss {

// True if nothing can be read although there are bytes: another version of the format.
bool unreadable(const SegmentHead& head);

struct MemberPlan {
  SkipReason skip = SkipReason::none;    // why the whole member is left out
  std::shared_ptr<OpenSegment> segment;  // null if it is
  SegmentWalk walk;
  BlockSelection selection;  // of a trusted segment; else all frames are read
  // Ordinals in walk.frames of the frames to read, ascending.
  std::vector<std::uint32_t> frames;
};

struct PlanOptions {
  WalkOptions walk;
  bool strict = false;
};

// Decides about one member. The header of a sealed segment excludes it only once its metadata
// checksum holds, so that a flipped bit never hides rows.
Result<MemberPlan> plan_member(Archive& archive, std::size_t member, const RowQuery& query,
                               const PlanOptions& options);

}  // namespace varve::jss
