// SPDX-License-Identifier: MIT OR Apache-2.0
// Which types may stand where (Appendix B), and how wide fixed values are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "varve/kladde_types.hpp"

namespace varve::kladde {

// What a table breaks of the rules of nesting, in words; nullopt if it keeps them. The references
// must be in range.
std::optional<std::string> find_breach(const TypeTable& table);

// For each type of a table that breaks no rule: the bytes of its fixed ("slotted") encoding;
// nullopt if it has none (or one beyond 2^32-1 bytes).
std::vector<std::optional<std::uint64_t>> fixed_sizes(const TypeTable& table);

// How a value is encoded where it stands.
enum class Encoding : std::uint8_t { slotted, packed };

}  // namespace varve::kladde
