// SPDX-License-Identifier: MIT OR Apache-2.0
// What the root reaches by its type descriptors: the leak check of section 16.
#pragma once

#include <functional>

#include "kladde/contents.hpp"
#include "kladde/reader.hpp"

namespace varve::kladde {

// Compares the live allocations with those that the root value reaches and the header names, and
// reports notes: allocations nothing reaches, pointers that lead nowhere, a schema table that is
// none, a fingerprint that is not the table's. Says nothing where the store names no types.
Result<void> check_reach(const io::File& file, const World& world, const State& state,
                         std::uint64_t max_memory_bytes, FindingSink& findings);

}  // namespace varve::kladde
