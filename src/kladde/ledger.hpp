// SPDX-License-Identifier: MIT OR Apache-2.0
// How much of each page the committed state still rests on, and what it is. Every change of an
// allocation's fragments passes through here; a page whose count drops to zero is free for the next
// flush, and sparse pages are found in order of what is left of them.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kladde/reader.hpp"

namespace varve::kladde {

struct TableUse {
  std::uint64_t epoch = 0;
  std::uint32_t live = 0;        // fragments, anchors and size witnesses that rest on it
  bool interior = false;         // has children
  bool fixed = false;            // found damaged: not read again
  std::uint32_t statements = 0;  // that stand in it, dead ones included
  std::uint32_t content_bytes = 0;
  std::uint32_t listed = 0;   // the coverage it is listed under, plus one; 0: not listed
  std::uint32_t counted = 0;  // bytes of it in Ledger::leaf_bytes()

  // About the bytes that its live statements take, never less: a statement that decides several
  // stretches counts as so many.
  std::uint32_t coverage() const {
    return live >= statements
               ? content_bytes
               : static_cast<std::uint32_t>(std::uint64_t{content_bytes} * live / statements);
  }
};

// A Ref fragment that lies in a data page, named by its place.
struct PageUse {
  Id id = 0;
  std::uint32_t start = 0;
  friend bool operator==(const PageUse&, const PageUse&) = default;
};

struct DataPageUse {
  std::uint64_t live = 0;  // bytes
  std::uint32_t listed = 0;
  // More fragments than any writer puts into a page, or found damaged: stays where it is.
  bool fixed = false;
  std::vector<PageUse> uses;  // in no order; not kept for fixed pages
};

class Ledger {
 public:
  // Pages by what is left of them, sparsest first; full ones are left out.
  using BySparsity = std::set<std::pair<std::uint32_t, PageNumber>>;

  // Counts what a loaded state rests on; its tables must have been added.
  void load(const Allocations& allocations);

  // A fragment of some allocation comes or goes.
  void add(Id id, const Fragment& fragment);
  void remove(Id id, const Fragment& fragment);
  // The same for an anchor or size witness; k_no_table is none.
  void rest_on(PageNumber table);
  void rest_no_more(PageNumber table);

  void add_table(PageNumber page, const TableUse& use);
  void erase_table(PageNumber page);
  // Files the pages that changed under what is left of them: once per flush.
  void settle();

  std::uint64_t epoch_of(PageNumber table) const { return tables_.at(table).epoch; }
  const std::map<PageNumber, TableUse>& tables() const { return tables_; }
  // Leaves (slots aside) without any live statement.
  const std::set<PageNumber>& dead_tables() const { return dead_tables_; }
  // Takes the data pages that nothing uses any more since the last call.
  std::vector<PageNumber> take_dead_data();

  std::uint64_t data_pages() const { return data_.size(); }
  std::uint64_t live_bytes() const { return live_bytes_; }  // in data pages
  // Nullptr if it is no data page in use.
  const DataPageUse* data_page(PageNumber page) const;
  // Leaves it where it is from now on.
  void fix(PageNumber page);
  void fix_table(PageNumber page);
  const BySparsity& sparse_data() const { return sparse_data_; }
  // Table pages without children, slots aside: how many, and the coverage of all.
  const BySparsity& sparse_tables() const { return sparse_tables_; }
  std::uint64_t leaves() const { return leaves_; }
  std::uint64_t leaf_bytes() const { return leaf_bytes_; }

 private:
  void count_dead(PageNumber page, const TableUse& use);

  std::map<PageNumber, TableUse> tables_;  // slots included
  std::set<PageNumber> dead_tables_;
  std::unordered_map<PageNumber, DataPageUse> data_;
  std::uint64_t live_bytes_ = 0;
  BySparsity sparse_data_;
  BySparsity sparse_tables_;
  std::uint64_t leaves_ = 0;
  std::uint64_t leaf_bytes_ = 0;
  std::vector<PageNumber> changed_data_;
  std::vector<PageNumber> changed_tables_;
};

}  // namespace varve::kladde
