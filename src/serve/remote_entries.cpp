// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/remote_entries.hpp"

#include <utility>

namespace varve::serve {

Result<std::optional<RemoteEntry>> ListedEntries::next() {
  if (done_ == segments_.size()) {
    return std::nullopt;
  }
  const std::size_t at = reverse_ ? segments_.size() - 1 - done_ : done_;
  ++done_;
  return RemoteEntry{segments_[at], {}};
}

Result<std::optional<RemoteEntry>> PlannedEntries::next() {
  while (position_ == page_.segments.size()) {
    if (tip_ && cursor_ >= *tip_) {
      return std::nullopt;
    }
    VARVE_TRY(next_page());
  }
  jss::SnapshotPlan::Segment& entry = page_.segments[position_++];
  return RemoteEntry{std::move(entry.name), std::move(entry.blocks)};
}

Result<void> PlannedEntries::next_page() {
  if (!tip_) {
    cursor_ = request_.after_seq.value_or(0);
  }
  request_.after_seq = cursor_ == 0 ? std::nullopt : std::optional(cursor_);
  if (tip_) {
    request_.before_seq = tip_;
  }
  VARVE_ASSIGN(page_, archive_.plan(request_));
  position_ = 0;
  if (!tip_) {
    tip_ = page_.sealed_tip_seq;
  }
  if (page_.planned_through_seq <= cursor_ && cursor_ < *tip_) {
    return fail(ErrorCode::io, "remote-answer",
                "the server's answer is refused: the plan does not advance", archive_.url());
  }
  cursor_ = page_.planned_through_seq;
  return {};
}

}  // namespace varve::serve
