// SPDX-License-Identifier: MIT OR Apache-2.0
// The live state as rows of the state face, and as lines of CONTRACT section 6.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "arena/state.hpp"
#include "varve/batch.hpp"
#include "varve/scan.hpp"

namespace varve::arena {

const Schema& state_schema();

// Calls `emit` with batches of the state's rows: vectors, atoms, composites, documents, derived,
// triples, relations, relation types, rules; within a kind by id, rules as they were declared.
// `ids`: only rows that carry one of these as id, end or name; empty: all. `emit` returns false to
// stop.
Result<void> each_state_batch(const LiveState& state, const std::vector<std::string>& ids,
                              const std::function<Result<bool>(Batch)>& emit);

// Appends one row as a line.
void append_state_line(std::string& out, const Batch& batch, std::size_t row);

}  // namespace varve::arena
