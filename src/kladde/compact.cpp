// SPDX-License-Identifier: MIT OR Apache-2.0
// Consolidation run to its end.
#include <algorithm>
#include <utility>

#include "kladde/flush.hpp"

namespace varve::kladde {

namespace {

constexpr unsigned k_idle_steps = 3;

}  // namespace

// Step by step, until nothing becomes smaller for a while: the first steps may make the file
// longer, where it has no holes yet.
Result<void> StoreCore::compact() {
  if (has_news()) {
    VARVE_TRY(flush());
  }
  next_crumbs = 1;
  std::uint64_t fewest_used = UINT64_MAX;
  std::uint64_t fewest_pages = UINT64_MAX;
  for (unsigned idle = 0; idle < k_idle_steps;) {
    VARVE_TRY(sync());  // ends the quarantine of what the step before dropped
    VARVE_TRY(poison_on_error(space.trim(*file, 1, false)));
    const bool unseen = next_crumbs <= k_max_u32;
    const std::uint64_t used = ledger.data_pages() + shape.leaves.size() + shape.interior.size();
    const bool smaller = used < fewest_used || space.page_count() < fewest_pages;
    idle = smaller || unseen ? 0 : idle + 1;
    fewest_used = std::min(fewest_used, used);
    fewest_pages = std::min(fewest_pages, space.page_count());
    VARVE_ASSIGN(Consolidation step, choose_consolidation(*this, Effort::full));
    if (step.empty() && ledger.dead_tables().empty()) {
      return {};
    }
    VARVE_TRY(Flush(*this, std::move(step)).run());
  }
  return {};
}

}  // namespace varve::kladde
