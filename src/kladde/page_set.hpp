// SPDX-License-Identifier: MIT OR Apache-2.0
// A set of page numbers, kept as intervals: its memory follows the number of runs, not the size of
// the file (which a sparse file makes huge for nothing).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace varve::kladde {

class PageSet {
 public:
  using Map = std::map<std::uint64_t, std::uint64_t>;  // first page -> one past the last

  bool empty() const { return runs_.empty(); }
  std::uint64_t count() const { return count_; }
  bool contains(std::uint64_t page) const;
  // Adds a page; false if it was there.
  bool insert(std::uint64_t page);
  // Adds [first, end), none of which may be in the set.
  void insert_run(std::uint64_t first, std::uint64_t end);
  // Removes a page; false if it was not there.
  bool erase(std::uint64_t page);
  // Removes every page >= first.
  void erase_from(std::uint64_t first);
  std::optional<std::uint64_t> lowest() const;
  // Removes and gives the lowest page.
  std::optional<std::uint64_t> take_lowest();
  // The first page of the run that ends at `end` (exclusive); `end` if there is none.
  std::uint64_t run_before(std::uint64_t end) const;
  const Map& runs() const { return runs_; }

 private:
  Map runs_;
  std::uint64_t count_ = 0;
};

}  // namespace varve::kladde
