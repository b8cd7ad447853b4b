// SPDX-License-Identifier: MIT OR Apache-2.0
// Segment file names (section 16): `seg_`, ten digits of base 36, `.jss`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace varve::jss {

// The suffix of the file that a rewrite makes beside the original (section 14.3).
inline constexpr std::string_view k_temporary_suffix = ".tmp";

// The name of segment `number`; nullopt above k_max_segment_number, which has no valid name.
std::optional<std::string> segment_name(std::uint64_t number);
// The number in a valid name; nullopt for every other text.
std::optional<std::uint64_t> segment_number(std::string_view name);
// True for the name of a segment followed by k_temporary_suffix.
bool is_temporary_name(std::string_view name);

}  // namespace varve::jss
