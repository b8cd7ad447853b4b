// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/json_writer.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cmath>

#include "base/text_coding.hpp"

namespace varve::base {

namespace {

// 0: stands for itself; 1: needs \u00XX; else the letter behind the backslash.
constexpr std::array<char, 256> make_escapes() {
  std::array<char, 256> table{};
  for (int i = 0; i < 0x20; ++i) {
    table[i] = 1;
  }
  table['"'] = '"';
  table['\\'] = '\\';
  table['\b'] = 'b';
  table['\f'] = 'f';
  table['\n'] = 'n';
  table['\r'] = 'r';
  table['\t'] = 't';
  return table;
}
constexpr auto k_escapes = make_escapes();

}  // namespace

void append_double(std::string& out, double value) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  const std::string_view text(digits, static_cast<std::size_t>(end - digits));
  out += text;
  if (text.find_first_of(".en") == std::string_view::npos) {
    out += ".0";
  }
}

void append_json_text(std::string& out, std::string_view utf8) {
  out += '"';
  std::size_t clean_from = 0;
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const char escape = k_escapes[static_cast<unsigned char>(utf8[i])];
    if (escape == 0) {
      continue;
    }
    out.append(utf8, clean_from, i - clean_from);
    clean_from = i + 1;
    if (escape == 1) {
      constexpr std::string_view k_hex = "0123456789abcdef";
      out += "\\u00";
      out += k_hex[static_cast<unsigned char>(utf8[i]) >> 4];
      out += k_hex[static_cast<unsigned char>(utf8[i]) & 15];
    } else {
      out += '\\';
      out += escape;
    }
  }
  out.append(utf8, clean_from, utf8.size() - clean_from);
  out += '"';
}

void append_json_bytes(std::string& out, ByteSpan bytes) {
  out += "{\"$bytes\":\"";
  append_base64(out, bytes);
  out += "\"}";
}

void append_json_text_or_bytes(std::string& out, std::string_view value) {
  if (is_utf8(value)) {
    append_json_text(out, value);
  } else {
    append_json_bytes(out, as_bytes(value));
  }
}

void append_rfc3339(std::string& out, std::int64_t microseconds) {
  using namespace std::chrono;
  const sys_time<std::chrono::microseconds> time{std::chrono::microseconds(microseconds)};
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(time - day);
  fmt::format_to(std::back_inserter(out), "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z",
                 static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                 static_cast<unsigned>(date.day()), clock.hours().count(), clock.minutes().count(),
                 clock.seconds().count(), clock.subseconds().count());
}

}  // namespace varve::base
