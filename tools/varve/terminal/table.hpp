// SPDX-License-Identifier: MIT OR Apache-2.0
// Aligned columns for a table that fits in memory. The last column takes the width that is left and
// is broken between words.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace varve::terminal {

class Table {
 public:
  enum class Align : unsigned char { left, right };

  explicit Table(std::vector<Align> columns) : columns_(std::move(columns)) {}
  // As many cells as columns, or fewer; cells may hold colour codes.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  // Lines of at most `width` characters where the last column allows it, begun with `indent`
  // spaces.
  std::string text(std::size_t width, std::size_t indent = 0) const;

 private:
  std::vector<Align> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace varve::terminal
