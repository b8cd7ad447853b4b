// SPDX-License-Identifier: MIT OR Apache-2.0
// The bytes of allocations, read from the file.
#pragma once

#include <string>

#include "kladde/state.hpp"
#include "varve/file_system.hpp"

namespace varve::kladde {

// Appends bytes [from, to) of the id, as far as it reaches. Errors are those of reading; a file
// that has become too short is ErrorCode::locked.
Result<void> append_contents(const io::File& file, const State& state, Id id, std::uint32_t from,
                             std::uint32_t to, std::string& out);

}  // namespace varve::kladde
