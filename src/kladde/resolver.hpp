// SPDX-License-Identifier: MIT OR Apache-2.0
// Resolution: what all statements of a world add up to, id by id (sections 6.3 and 6.4, Appendix
// A).
#pragma once

#include <functional>
#include <span>

#include "kladde/allocation.hpp"
#include "kladde/table_walker.hpp"

namespace varve::kladde {

// Resolves one id. `statements` are all that name it, in any order, at least one; `pages` are what
// their `table` indexes. The fault, if any, is what dialect B refuses; the allocation is then still
// filled as far as the statements go.
struct Resolution {
  Allocation allocation;
  std::optional<Fault> fault;
};
Resolution resolve(std::span<const Statement> statements, std::span<const TablePage> pages,
                   Dialect dialect);

// Resolves every id of a tree in ascending order. `take` gets the id, its statements and what they
// say. Errors are those of `take`.
using TakeResolution = std::function<Result<void>(Id id, std::span<const Statement> statements,
                                                  Resolution resolution)>;
Result<void> resolve_all(const TableTree& tree, Dialect dialect, const TakeResolution& take);

}  // namespace varve::kladde
