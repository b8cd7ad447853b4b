// SPDX-License-Identifier: MIT OR Apache-2.0
// What the statements of one world say about one id, resolved (section 6.3), with what a writer
// needs to know when it drops table pages (section 6.5).
#pragma once

#include <cstdint>
#include <map>

#include "kladde/fragments.hpp"
#include "varve/kladde.hpp"

namespace varve::kladde {

// No page has this number.
inline constexpr PageNumber k_no_table = 0xFFFFFFFF;

struct Allocation {
  std::uint32_t size = 0;
  bool exists = false;
  // Dialect A: the page of the anchor, while statements older than it are present; else
  // k_no_table.
  PageNumber anchor_table = k_no_table;
  std::uint32_t anchor_bound = 0;
  // The page of a statement without bytes that the size or the existence rests on (k_no_table if a
  // content statement's fragment ends at the size, or the anchor says it). Dialect B: the page of
  // the statement that states the size.
  PageNumber witness_table = k_no_table;
  std::uint32_t present = 0;  // statements that name the id, dead ones included
  std::uint32_t older = 0;    // of those, the ones older than the anchor
  FragmentList fragments;
};

using Allocations = std::map<Id, Allocation>;

}  // namespace varve::kladde
