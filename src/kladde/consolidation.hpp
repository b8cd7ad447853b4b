// SPDX-License-Identifier: MIT OR Apache-2.0
// What a flush brings together beside its own news, so that the file stays small (section 14):
// sparse pages, crumbled allocations, the pages at the end of the file.
#pragma once

#include <set>

#include "kladde/flush_plan.hpp"

namespace varve::kladde {

struct StoreCore;

struct Consolidation {
  std::set<PageNumber> tables;    // leaves whose statements are stated anew
  Rewrites rewrites;              // bytes to be copied out of data pages
  bool rebuild_interior = false;  // make the interior table pages anew
  std::uint64_t bytes = 0;        // in `rewrites`
  bool empty() const { return tables.empty() && rewrites.empty() && !rebuild_interior; }
};

enum class Effort : std::uint8_t {
  budgeted,  // in proportion to what the flush writes, as the store's options say
  full,      // whatever makes the file smaller, in steps
};

// Chooses from the committed state. Pages that fail their checks are left where they are. Errors
// are those of reading.
Result<Consolidation> choose_consolidation(StoreCore& store, Effort effort);

}  // namespace varve::kladde
