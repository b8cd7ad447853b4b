// SPDX-License-Identifier: MIT OR Apache-2.0
#include "terminal/table.hpp"

#include <algorithm>

#include "terminal/style.hpp"

namespace varve::terminal {

namespace {

constexpr std::size_t k_gap = 2;
constexpr std::size_t k_narrowest_last_column = 24;

}  // namespace

std::string Table::text(std::size_t width, std::size_t indent) const {
  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(row[i]));
    }
  }
  std::size_t last_start = indent;
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    last_start += widths[i] == 0 ? 0 : widths[i] + k_gap;
  }
  const std::size_t line_width = std::max(width, last_start + k_narrowest_last_column);

  std::string out;
  for (const auto& row : rows_) {
    std::string line(indent, ' ');
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::size_t padding = widths[i] - display_width(row[i]);
      if (i + 1 == columns_.size()) {
        line += columns_[i] == Align::right ? std::string(padding, ' ') + row[i]
                                            : wrap_words(row[i], line_width, last_start);
      } else if (widths[i] != 0) {
        line += columns_[i] == Align::right ? std::string(padding, ' ') + row[i]
                                            : row[i] + std::string(padding, ' ');
        line.append(k_gap, ' ');
      }
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

}  // namespace varve::terminal
