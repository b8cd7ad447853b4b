// SPDX-License-Identifier: MIT OR Apache-2.0
// Folding the log into the live state: section 8 with the effects of section 10.1. Transactions are
// decoded side by side and applied in log order.
#pragma once

#include <optional>

#include "arena/log_walk.hpp"
#include "arena/payload.hpp"
#include "arena/state.hpp"
#include "varve/finding.hpp"

namespace varve::arena {

struct FoldRequest {
  // Fold what can be read although the format refuses the log; each gap is a finding.
  bool partial = false;
  WalkOptions walk;
  // Stop before this place: segment position and offset of a frame's start.
  std::optional<std::pair<std::size_t, std::uint64_t>> until;
};

// Applies every transaction. Errors unless `partial`: what section 8 refuses (corrupt-frame,
// corrupt-committed, bad-payload: ErrorCode::damaged; unsupported-payload, encryption without a
// key: ErrorCode::unsupported). A torn tail is a finding, and the end. Gives the verdict of what
// was read.
Result<Verdict> fold_log(const StoreMap& map, const PayloadContext& payloads,
                         const FoldRequest& request, LiveState& state, FindingSink& findings);

}  // namespace varve::arena
