// SPDX-License-Identifier: MIT OR Apache-2.0
// Times as HTTP spells them: "Sun, 06 Nov 1994 08:49:37 GMT".
#pragma once

#include <ctime>
#include <optional>
#include <string>

namespace varve::serve {

std::string http_date(std::time_t time);
// Of the preferred form only; nullopt for anything else, which a receiver then ignores.
std::optional<std::time_t> parse_http_date(const std::string& text);

}  // namespace varve::serve
