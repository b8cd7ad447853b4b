// SPDX-License-Identifier: MIT OR Apache-2.0
// The filter of the legacy stream, given with the request or later by a message (section 19.3).
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/stream_request.hpp"

namespace varve::serve {

// The limits count what is left without repetitions. Else a sentence about what is wrong.
std::expected<jss::RowFilter, std::string> legacy_filter(std::vector<std::string> dids,
                                                         std::vector<std::string> collections);
// A size limit as that stream takes it: none where it is below 0 or above 2^32-1.
std::uint32_t legacy_limit(std::int64_t bytes);

// The most that a client may send at a time.
inline constexpr std::size_t k_max_options_bytes = 10'000'000;

// A message of a client: the filter of an `options_update`, which replaces all of the one before
// (what is absent does not limit); nothing for a message of another type; else what is wrong.
std::expected<std::optional<StreamFilter>, std::string> parse_options_update(
    std::string_view message);

}  // namespace varve::serve
