// SPDX-License-Identifier: MIT OR Apache-2.0
// Parameters of a query, checked: whatever a client sends is a value or an error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "serve/http.hpp"
#include "varve/result.hpp"

namespace varve::serve {

// ErrorCode::invalid_argument with the parameter's name as the reason.
std::unexpected<Error> bad_parameter(std::string name, std::string message);

// The decimal number under `name`; nothing where it is absent or empty.
Result<std::optional<std::uint64_t>> unsigned_parameter(const HttpRequest& request,
                                                        const std::string& name);
Result<std::optional<std::int64_t>> signed_parameter(const HttpRequest& request,
                                                     const std::string& name);
// "1" or "0"; absent is false.
Result<bool> flag_parameter(const HttpRequest& request, const std::string& name);
// One of the space-separated choices; the first where it is absent.
Result<std::string> choice_parameter(const HttpRequest& request, const std::string& name,
                                     std::string_view choices);
// The text under `name`, at most `longest` bytes; empty where it is absent.
Result<std::string> text_parameter(const HttpRequest& request, const std::string& name,
                                   std::size_t longest);

}  // namespace varve::serve
