// SPDX-License-Identifier: MIT OR Apache-2.0
// Numbers written as text and nothing else.
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>
#include <system_error>

namespace varve::base {

// The number that the whole text is: digits of the base alone, with a '-' before them for signed
// types; nothing for any other text, the empty one included, and for what the type does not hold.
template <std::integral T>
std::optional<T> whole_number(std::string_view text, int base = 10) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

}  // namespace varve::base
