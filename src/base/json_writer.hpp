// SPDX-License-Identifier: MIT OR Apache-2.0
// JSON out on the hot path: free functions that append to a string. No state, no checks of nesting;
// the caller writes commas and brackets.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.hpp"

namespace varve::base {

template <class T>
void append_integer(std::string& out, T value) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.append(digits, static_cast<std::size_t>(end - digits));
}

// A finite double in its shortest round-trip form, always with a '.' or an 'e'.
void append_double(std::string& out, double value);

// Text in quotes with the escapes that JSON asks for. The caller knows that it is UTF-8.
void append_json_text(std::string& out, std::string_view utf8);

// {"$bytes":"<base64>"}
void append_json_bytes(std::string& out, ByteSpan bytes);

// As text if it is UTF-8, else as bytes.
void append_json_text_or_bytes(std::string& out, std::string_view value);

// "2026-07-04T12:00:00.000000Z" from microseconds since 1970.
void append_rfc3339(std::string& out, std::int64_t microseconds);

}  // namespace varve::base
