// SPDX-License-Identifier: MIT OR Apache-2.0
// Small fragments of one allocation that follow each other: many statements where one would do.
#pragma once

#include <cstdint>
#include <vector>

#include "kladde/allocation.hpp"

namespace varve::kladde {

struct StoreCore;

// Bytes [from, to) of an allocation that `count` small fragments make up; at most a page's worth.
struct CrumbRun {
  Id id = 0;
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::uint32_t count = 0;
  std::uint64_t bytes() const { return to - from; }
  // Whether the fragment is one more of them.
  bool takes(const Fragment& fragment) const;
  void add(const Fragment& fragment);
};

// Runs of many crumbs around what the journal wrote, which is about to add to them. Disjoint;
// `budget` bytes in all at most.
std::vector<CrumbRun> crumbs_beside_news(const StoreCore& store, std::uint64_t budget);

// Runs of a few crumbs or more in the next stretch of all allocations, until there are `budget`
// bytes of them: each allocation is looked at once, StoreCore::next_crumbs says where to go on.
std::vector<CrumbRun> next_crumbs(StoreCore& store, std::uint64_t budget);

}  // namespace varve::kladde
