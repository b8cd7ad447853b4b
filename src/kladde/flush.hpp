// SPDX-License-Identifier: MIT OR Apache-2.0
// One flush, step by step (section 9.1). Nothing in the store changes before every page that it
// needs is there; from the first write on an error is final.
#pragma once

#include "kladde/consolidation.hpp"
#include "kladde/flush_plan.hpp"
#include "kladde/store_core.hpp"

namespace varve::kladde {

class Flush {
 public:
  // `consolidation` is what rides along.
  Flush(StoreCore& store, Consolidation consolidation);
  Result<void> run();

 private:
  // A part of a content statement's bytes, in a data page of this flush.
  struct DataPiece {
    std::uint32_t plan = 0;
    std::uint32_t content = 0;  // index in the plan
    std::uint32_t start = 0;    // in the allocation
    std::uint32_t size = 0;
    std::uint32_t page = 0;  // index in data_pages_
    std::uint32_t in_page = 0;
  };

  // Steps 1, 2 and 6: everything that can fail without harm.
  Result<void> prepare();
  void choose_dropped();
  Result<void> read_dropped(PageNumber page);
  bool needs_page(const PlannedContent& content) const;
  void place_data();
  void place(std::uint32_t plan, std::uint32_t content, std::uint32_t& used);
  Result<void> make_statements();
  Result<void> add_content(const PlannedContent& content);
  void add_size(const PlannedId& plan);
  Result<std::vector<PageNumber>> take(std::size_t count);

  // Steps 3 to 5, 7 and 8.
  Result<void> write();
  Result<void> write_data();
  Result<void> write_tables();
  Result<void> write_slot();

  // What was written is the committed state now.
  void commit();
  void apply(const PlannedId& plan, std::span<const NewStatement> statements);
  void replace(Id id, FragmentList& fragments, std::uint64_t from, std::uint64_t to,
               std::span<const Fragment> fresh);
  void apply_anchor(const PlannedId& plan, Allocation& allocation, const NewStatement* anchor);
  void apply_witness(const PlannedId& plan, Allocation& allocation, PageNumber old_anchor,
                     const NewStatement* anchor, const NewStatement* size);
  void deny_growth(const PlannedId& plan, Allocation& allocation, std::uint32_t old_size);
  void drop_pages();

  StoreCore& store_;
  Consolidation consolidation_;
  std::uint64_t epoch_;
  PageNumber slot_;
  PageNumber old_slot_;
  std::set<PageNumber> dropped_pages_;
  DroppedStatements dropped_;
  std::vector<PlannedId> plans_;
  // In the order of the pages: first what is new, then what was brought together, which lives
  // longer and is kept apart from it.
  std::vector<DataPiece> pieces_;
  std::size_t next_new_ = 0;  // the piece to be stated next of either kind
  std::size_t next_aged_ = 0;
  std::size_t data_page_count_ = 0;
  std::vector<PageNumber> data_pages_;
  std::vector<NewStatement> statements_;
  base::Bytes payloads_;
  TableLayout layout_;
  std::vector<PageNumber> taken_;
  PageNumber old_journal_ = 0;
  PageNumber next_journal_ = 0;
};

}  // namespace varve::kladde
