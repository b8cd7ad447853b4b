// SPDX-License-Identifier: MIT OR Apache-2.0
// Text between quotes, those inside doubled: identifiers and strings of SQL, fields of CSV.
#pragma once

#include <string>
#include <string_view>

namespace varve::base {

inline void append_in_quotes(std::string& out, std::string_view text, char quote = '"') {
  out += quote;
  for (const char c : text) {
    if (c == quote) {
      out += quote;
    }
    out += c;
  }
  out += quote;
}

inline std::string in_quotes(std::string_view text, char quote = '"') {
  std::string out;
  append_in_quotes(out, text, quote);
  return out;
}

}  // namespace varve::base
