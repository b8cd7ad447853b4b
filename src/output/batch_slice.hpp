// SPDX-License-Identifier: MIT OR Apache-2.0
// A part of a batch as a batch of its own.
#pragma once

#include <cstddef>

#include "varve/batch.hpp"

namespace varve::output {

// Rows [first, first + count) of `batch`, which must have them. Shares its memory (the slice holds
// the owner) but for the validity bits, which are moved; what a mapper made is left out.
Batch slice_batch(const Batch& batch, std::size_t first, std::size_t count);

}  // namespace varve::output
