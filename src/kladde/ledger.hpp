// SPDX-License-Identifier: MIT OR Apache-2.0
// How much of each page the committed state still rests on. Every change of an allocation's
// fragments passes through here; a page whose count drops to zero is free for the next flush.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "kladde/reader.hpp"

namespace varve::kladde {

struct TableUse {
  std::uint64_t epoch = 0;
  std::uint32_t live = 0;  // fragments, anchors and size witnesses that rest on it
  bool interior = false;   // has children
};

class Ledger {
 public:
  // Counts what a loaded state rests on; its tables must have been added.
  void load(const Allocations& allocations);

  // A fragment of some allocation comes or goes.
  void add(const Fragment& fragment);
  void remove(const Fragment& fragment);
  // The same for an anchor or size witness; k_no_table is none.
  void rest_on(PageNumber table);
  void rest_no_more(PageNumber table);

  void add_table(PageNumber page, std::uint64_t epoch, bool interior);
  void erase_table(PageNumber page);

  std::uint64_t epoch_of(PageNumber table) const { return tables_.at(table).epoch; }
  const std::map<PageNumber, TableUse>& tables() const { return tables_; }
  // Leaves (slots aside) without any live statement.
  const std::set<PageNumber>& dead_tables() const { return dead_tables_; }
  // Takes the data pages that nothing uses any more since the last call.
  std::vector<PageNumber> take_dead_data();
  std::uint64_t data_pages() const { return data_.size(); }

 private:
  void settle(PageNumber page, const TableUse& use);

  std::map<PageNumber, TableUse> tables_;  // slots included
  std::set<PageNumber> dead_tables_;
  std::unordered_map<PageNumber, std::uint64_t> data_;  // live bytes
  std::set<PageNumber> emptied_;                        // may be dead
};

}  // namespace varve::kladde
