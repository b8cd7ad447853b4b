// SPDX-License-Identifier: MIT OR Apache-2.0
// Text into JSON, at the speed of a copy where nothing needs an escape.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/text_coding.hpp"

namespace varve::jss {

// A byte of text becomes at most this many ("\u0000").
inline constexpr std::size_t k_max_escaped_bytes = 6;
// write_escaped may scribble this far behind its end.
inline constexpr std::size_t k_copy_slack_bytes = 8;

namespace detail {

constexpr std::uint64_t k_ones = 0x0101010101010101;
constexpr std::uint64_t k_high_bits = 0x8080808080808080;

// High bits set in the bytes of `word` that are zero (and perhaps in bytes behind such a one).
constexpr std::uint64_t zero_bytes(std::uint64_t word) {
  return (word - k_ones) & ~word & k_high_bits;
}
// Not 0 if some byte needs an escape: below 0x20, '"' or '\'. Exact up to the first such byte.
constexpr std::uint64_t escape_bytes(std::uint64_t word) {
  const std::uint64_t below_space = (word - k_ones * 0x20) & ~word & k_high_bits;
  return below_space | zero_bytes(word ^ (k_ones * '"')) | zero_bytes(word ^ (k_ones * '\\'));
}

inline char* write_one_escape(char* to, unsigned char c) {
  constexpr std::string_view k_hex = "0123456789abcdef";
  char letter = 0;
  switch (c) {
    case '"':
    case '\\':
      letter = static_cast<char>(c);
      break;
    case '\b':
      letter = 'b';
      break;
    case '\f':
      letter = 'f';
      break;
    case '\n':
      letter = 'n';
      break;
    case '\r':
      letter = 'r';
      break;
    case '\t':
      letter = 't';
      break;
    default:
      std::memcpy(to, "\\u00", 4);
      to[4] = k_hex[c >> 4];
      to[5] = k_hex[c & 15];
      return to + 6;
  }
  to[0] = '\\';
  to[1] = letter;
  return to + 2;
}

}  // namespace detail

// Writes `text` with JSON's escapes at `to`, which has room for k_max_escaped_bytes a byte and
// k_copy_slack_bytes more. Gives the place behind the last byte, or nullptr if it is not UTF-8
// (which is not looked at if the caller knows that it is).
inline char* write_escaped(char* to, std::string_view text, bool known_utf8 = false) {
  const char* from = text.data();
  const char* end = from + text.size();
  while (from != end) {
    if (end - from >= 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, from, 8);
      if ((word & detail::k_high_bits) == 0 || known_utf8) {
        if (detail::escape_bytes(word) == 0) {
          std::memcpy(to, &word, 8);
          from += 8;
          to += 8;
          continue;
        }
      }
    }
    const auto c = static_cast<unsigned char>(*from++);
    if (c >= 0x80 && !known_utf8) {
      if (!base::is_utf8(text)) {
        return nullptr;
      }
      known_utf8 = true;
    }
    if (c >= 0x20 && c != '"' && c != '\\') {
      *to++ = static_cast<char>(c);
    } else {
      to = detail::write_one_escape(to, c);
    }
  }
  return to;
}

}  // namespace varve::jss
