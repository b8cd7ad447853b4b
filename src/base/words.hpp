// SPDX-License-Identifier: MIT OR Apache-2.0
// Lists of words that are separated by spaces, as tables of options have them.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace varve::base {

inline std::vector<std::string> split_words(std::string_view words) {
  std::vector<std::string> out;
  std::size_t from = 0;
  while ((from = words.find_first_not_of(' ', from)) != std::string_view::npos) {
    const std::size_t end = std::min(words.find(' ', from), words.size());
    out.emplace_back(words.substr(from, end - from));
    from = end;
  }
  return out;
}

inline bool lists_word(std::string_view words, std::string_view word) {
  return std::ranges::any_of(split_words(words),
                             [&](const std::string& candidate) { return candidate == word; });
}

}  // namespace varve::base
