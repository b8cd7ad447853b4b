// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kladde/ledger.hpp"

#include <cassert>

namespace varve::kladde {

void Ledger::load(const Allocations& allocations) {
  for (const auto& [id, allocation] : allocations) {
    allocation.fragments.for_each([&](const Fragment& fragment) { add(fragment); });
    rest_on(allocation.anchor_table);
    rest_on(allocation.witness_table);
  }
}

void Ledger::settle(PageNumber page, const TableUse& use) {
  if (use.live == 0 && !use.interior && page >= k_slot_count) {
    dead_tables_.insert(page);
  } else {
    dead_tables_.erase(page);
  }
}

void Ledger::rest_on(PageNumber table) {
  if (table == k_no_table) {
    return;
  }
  TableUse& use = tables_.at(table);
  ++use.live;
  settle(table, use);
}

void Ledger::rest_no_more(PageNumber table) {
  if (table == k_no_table) {
    return;
  }
  TableUse& use = tables_.at(table);
  assert(use.live > 0);
  --use.live;
  settle(table, use);
}

void Ledger::add(const Fragment& fragment) {
  rest_on(fragment.table);
  if (fragment.kind == FragmentKind::ref) {
    data_[static_cast<PageNumber>(fragment.address / k_page_bytes)] += fragment.size;
  }
}

void Ledger::remove(const Fragment& fragment) {
  rest_no_more(fragment.table);
  if (fragment.kind == FragmentKind::ref) {
    const auto page = static_cast<PageNumber>(fragment.address / k_page_bytes);
    std::uint64_t& live = data_.at(page);
    assert(live >= fragment.size);
    live -= fragment.size;
    if (live == 0) {
      emptied_.insert(page);
    }
  }
}

void Ledger::add_table(PageNumber page, std::uint64_t epoch, bool interior) {
  const TableUse use{epoch, 0, interior};
  tables_[page] = use;
  settle(page, use);
}

void Ledger::erase_table(PageNumber page) {
  tables_.erase(page);
  dead_tables_.erase(page);
}

std::vector<PageNumber> Ledger::take_dead_data() {
  std::vector<PageNumber> out;
  for (const PageNumber page : emptied_) {
    const auto found = data_.find(page);
    if (found != data_.end() && found->second == 0) {
      out.push_back(page);
      data_.erase(found);
    }
  }
  emptied_.clear();
  return out;
}

}  // namespace varve::kladde
