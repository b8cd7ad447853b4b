// SPDX-License-Identifier: MIT OR Apache-2.0
// Positions, lengths, values and field names as the damage language writes them.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/text_coding.hpp"
#include "varve/store.hpp"

namespace varve::test {

inline constexpr std::uint64_t k_most_added_bytes = std::uint64_t{64} << 20;

// Decimal or 0x hexadecimal.
inline std::optional<std::uint64_t> parse_number(std::string_view text) {
  const bool hex = text.starts_with("0x");
  if (hex) {
    text.remove_prefix(2);
  }
  std::uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) {
    return std::nullopt;
  }
  return value;
}

// "name#2" -> ("name", 2); without a number the first one is meant.
inline std::pair<std::string, std::uint64_t> split_ordinal(const std::string& text) {
  const std::size_t hash = text.rfind('#');
  if (hash == std::string::npos) {
    return {text, 0};
  }
  const auto number = parse_number(text.substr(hash + 1));
  return number ? std::pair(text.substr(0, hash), *number) : std::pair(text, std::uint64_t{0});
}

// Finds a row by its path: "field", "unit#3/field", "unit#3". Each component is looked for among
// the rows below the one before it; spaces in names are written '_' where the line needs one word.
inline std::optional<ExplainRow> find_row(const std::vector<ExplainRow>& rows,
                                          const std::string& file, const std::string& path) {
  std::size_t first = 0;
  std::size_t last = rows.size();
  std::optional<ExplainRow> found;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    auto [name, ordinal] = split_ordinal(path.substr(at, end - at));
    found.reset();
    for (std::size_t i = first; i < last; ++i) {
      std::string field = rows[i].field;
      std::ranges::replace(field, ' ', '_');
      if (rows[i].file != file || field != name || ordinal-- != 0) {
        continue;
      }
      found = rows[i];
      first = i + 1;
      while (first < last && rows[first].depth > rows[i].depth) {
        ++first;  // to the end of what is below
      }
      last = std::exchange(first, i + 1);
      break;
    }
    if (!found) {
      return std::nullopt;
    }
    at = end + 1;
  }
  return found;
}

using Rows = std::function<std::vector<ExplainRow>()>;

// A position in a file of `size` bytes: "12", "0x40", "-5" (from the end), "50%", "end",
// "@unit#2" (where that row begins), and any of these with "+N" behind.
inline std::optional<std::size_t> parse_position(const std::string& text, const std::string& file,
                                                 std::size_t size, const Rows& rows) {
  const std::size_t plus = text.rfind('+');
  if (plus != std::string::npos && plus > 0) {
    const auto base = parse_position(text.substr(0, plus), file, size, rows);
    const auto more = parse_number(text.substr(plus + 1));
    return base && more && *more <= size - *base ? std::optional(*base + *more) : std::nullopt;
  }
  std::optional<std::uint64_t> at;
  if (text == "end") {
    at = size;
  } else if (text.starts_with('-')) {
    const auto back = parse_number(text.substr(1));
    at = back && *back <= size ? std::optional<std::uint64_t>(size - *back) : std::nullopt;
  } else if (text.ends_with('%')) {
    const auto percent = parse_number(text.substr(0, text.size() - 1));
    at = percent && *percent <= 100 ? std::optional<std::uint64_t>(size * *percent / 100)
                                    : std::nullopt;
  } else if (text.starts_with('@')) {
    const auto row = find_row(rows(), file, text.substr(1));
    at = row ? std::optional(row->offset) : std::nullopt;
  } else {
    at = parse_number(text);
  }
  return at && *at <= size ? std::optional<std::size_t>(*at) : std::nullopt;
}

// A range: a position and a length: "16", "rest" (to the end), "unit" (all of the row that the
// position names). Cut off at the end of the file.
inline std::optional<std::pair<std::size_t, std::size_t>> parse_range(const std::string& position,
                                                                      const std::string& length,
                                                                      const std::string& file,
                                                                      std::size_t size,
                                                                      const Rows& rows) {
  const auto at = parse_position(position, file, size, rows);
  if (!at) {
    return std::nullopt;
  }
  std::optional<std::uint64_t> count;
  if (length == "rest") {
    count = size - *at;
  } else if (length == "unit" && position.starts_with('@')) {
    const auto row = find_row(rows(), file, position.substr(1));
    count = row ? std::optional(row->length) : std::nullopt;
  } else {
    count = parse_number(length);
  }
  if (!count) {
    return std::nullopt;
  }
  return std::pair(*at, static_cast<std::size_t>(std::min<std::uint64_t>(*count, size - *at)));
}

// "hex:00ff", "text:abc".
inline std::optional<base::Bytes> parse_bytes(const std::string& text) {
  if (text.starts_with("hex:")) {
    return base::from_hex(text.substr(4));
  }
  if (text.starts_with("text:")) {
    const auto bytes = base::as_bytes(std::string_view(text).substr(5));
    return base::Bytes(bytes.begin(), bytes.end());
  }
  return std::nullopt;
}

// The new bytes of a field of `old`'s length: hex: or text: of that length, or an integer in the
// field's width, little-endian ("7", "0x10") or big-endian ("7be"). "+1" and "-1" change what is
// there (little-endian; "+1be").
inline std::optional<base::Bytes> parse_value(std::string text, base::ByteSpan old) {
  if (auto bytes = parse_bytes(text)) {
    return bytes->size() == old.size() ? bytes : std::nullopt;
  }
  const bool big = text.ends_with("be") && !text.starts_with("0x");
  const bool big_hex = text.starts_with("0x") && text.ends_with(":be");
  if (big || big_hex) {
    text.resize(text.size() - (big ? 2 : 3));
  }
  const char sign = text.starts_with('+') || text.starts_with('-') ? text[0] : ' ';
  const auto number = parse_number(sign == ' ' ? text : text.substr(1));
  if (!number || old.empty() || old.size() > 8) {
    return std::nullopt;
  }
  const std::size_t width = old.size();
  const auto place = [&](std::size_t i) { return (big || big_hex) ? width - 1 - i : i; };
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < width && sign != ' '; ++i) {
    value |= std::uint64_t{base::u8(old[place(i)])} << (8 * i);
  }
  value = sign == '+' ? value + *number : sign == '-' ? value - *number : *number;
  if (sign == ' ' && width < 8 && (value >> (8 * width)) != 0) {
    return std::nullopt;
  }
  base::Bytes out(width);
  for (std::size_t i = 0; i < width; ++i) {
    out[place(i)] = static_cast<std::byte>(value >> (8 * i));
  }
  return out;
}

}  // namespace varve::test
