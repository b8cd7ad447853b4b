// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/json_writer.hpp"

#include <array>

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

struct CivilDate {
  std::int64_t year = 0;
  unsigned month = 0;
  unsigned day = 0;
};

// The proleptic Gregorian date of a day counted from 1970-01-01. Counts in years that begin in
// March, so that the leap day is the last one, and in eras of 400 years, which are all alike.
CivilDate civil_from_days(std::int64_t days) {
  constexpr std::int64_t k_days_before_1970 = 719'468;  // from 0000-03-01
  constexpr std::int64_t k_days_an_era = 146'097;
  days += k_days_before_1970;
  const std::int64_t era = (days >= 0 ? days : days - (k_days_an_era - 1)) / k_days_an_era;
  const auto day_of_era = static_cast<unsigned>(days - era * k_days_an_era);
  const unsigned year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const unsigned day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const unsigned shifted_month = (5 * day_of_year + 2) / 153;  // 0 is March
  CivilDate out;
  out.day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
  out.month = shifted_month < 10 ? shifted_month + 3 : shifted_month - 9;
  out.year = static_cast<std::int64_t>(year_of_era) + era * 400 + (out.month <= 2 ? 1 : 0);
  return out;
}

void append_digits(std::string& out, std::uint64_t value, unsigned digits) {
  char text[20];
  for (unsigned i = digits; i > 0; --i) {
    text[i - 1] = static_cast<char>('0' + value % 10);
    value /= 10;
  }
  out.append(text, digits);
}

// The first position at or after `from` of a byte that needs an escape, or the size.
std::size_t next_escape(std::string_view text, std::size_t from) {
  constexpr std::uint64_t k_ones = 0x0101010101010101;
  constexpr std::uint64_t k_tops = 0x8080808080808080;
  // Eight bytes at a time: the top bit of each byte that is below 0x20, a quote or a backslash. A
  // byte behind such a one may be marked wrongly, which the loop below sorts out.
  const auto zero_bytes = [](std::uint64_t word) { return (word - k_ones) & ~word & k_tops; };
  while (from + 8 <= text.size()) {
    std::uint64_t word;
    std::memcpy(&word, text.data() + from, sizeof word);
    const std::uint64_t below_space = (word - k_ones * 0x20) & ~word & k_tops;
    if ((below_space | zero_bytes(word ^ (k_ones * '"')) | zero_bytes(word ^ (k_ones * '\\'))) !=
        0) {
      break;
    }
    from += 8;
  }
  while (from < text.size() && k_escapes[static_cast<unsigned char>(text[from])] == 0) {
    ++from;
  }
  return from;
}

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
  for (;;) {
    const std::size_t i = next_escape(utf8, clean_from);
    out.append(utf8, clean_from, i - clean_from);
    if (i == utf8.size()) {
      break;
    }
    clean_from = i + 1;
    const char escape = k_escapes[static_cast<unsigned char>(utf8[i])];
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
  // Floor division: times before 1970 are negative.
  constexpr std::int64_t k_day_us = std::int64_t{86'400} * 1'000'000;
  std::int64_t day = microseconds / k_day_us;
  std::int64_t rest = microseconds % k_day_us;
  if (rest < 0) {
    rest += k_day_us;
    --day;
  }
  const CivilDate date = civil_from_days(day);
  // Years of other than four digits have no RFC 3339 form; they are written as they are.
  std::int64_t year = date.year;
  if (year < 0) {
    out += '-';
    year = -year;
  }
  if (year > 9999) {
    append_integer(out, year);
  } else {
    append_digits(out, static_cast<std::uint64_t>(year), 4);
  }
  const auto part = [&](char before, std::int64_t value, unsigned digits) {
    out += before;
    append_digits(out, static_cast<std::uint64_t>(value), digits);
  };
  part('-', date.month, 2);
  part('-', date.day, 2);
  part('T', rest / 3'600'000'000, 2);
  part(':', rest / 60'000'000 % 60, 2);
  part(':', rest / 1'000'000 % 60, 2);
  part('.', rest % 1'000'000, 6);
  out += 'Z';
}

}  // namespace varve::base
