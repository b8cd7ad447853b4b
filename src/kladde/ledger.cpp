// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kladde/ledger.hpp"

#include <algorithm>
#include <cassert>

namespace varve::kladde {

namespace {

// Pages fuller than that are not listed: nothing is won by rewriting them.
constexpr std::uint32_t k_full_bytes = k_max_page_content * 97 / 100;

bool is_leaf(PageNumber page, const TableUse& use) { return page >= k_slot_count && !use.interior; }

PageNumber page_of(const Fragment& fragment) {
  return static_cast<PageNumber>(fragment.address / k_page_bytes);
}

// Moves a page in the list to where its coverage belongs.
template <class Use>
void list(Ledger::BySparsity& list, PageNumber page, Use& use, std::uint64_t coverage,
          bool wanted) {
  const std::uint32_t now =
      wanted && coverage <= k_full_bytes ? static_cast<std::uint32_t>(coverage) + 1 : 0;
  if (now == use.listed) {
    return;
  }
  if (use.listed != 0) {
    list.erase({use.listed - 1, page});
  }
  if (now != 0) {
    list.insert({now - 1, page});
  }
  use.listed = now;
}

}  // namespace

void Ledger::load(const Allocations& allocations) {
  for (const auto& [id, allocation] : allocations) {
    allocation.fragments.for_each([&, id = id](const Fragment& fragment) { add(id, fragment); });
    rest_on(allocation.anchor_table);
    rest_on(allocation.witness_table);
  }
  settle();
}

void Ledger::count_dead(PageNumber page, const TableUse& use) {
  changed_tables_.push_back(page);
  if (use.live == 0 && is_leaf(page, use)) {
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
  count_dead(table, use);
}

void Ledger::rest_no_more(PageNumber table) {
  if (table == k_no_table) {
    return;
  }
  TableUse& use = tables_.at(table);
  assert(use.live > 0);
  --use.live;
  count_dead(table, use);
}

void Ledger::add(Id id, const Fragment& fragment) {
  rest_on(fragment.table);
  if (fragment.kind != FragmentKind::ref) {
    return;
  }
  const PageNumber page = page_of(fragment);
  DataPageUse& use = data_[page];
  use.live += fragment.size;
  live_bytes_ += fragment.size;
  changed_data_.push_back(page);
  if (use.uses.size() == k_page_bytes) {
    use.fixed = true;
    use.uses = {};
  }
  if (!use.fixed) {
    use.uses.push_back({id, fragment.start});
  }
}

void Ledger::remove(Id id, const Fragment& fragment) {
  rest_no_more(fragment.table);
  if (fragment.kind != FragmentKind::ref) {
    return;
  }
  const PageNumber page = page_of(fragment);
  DataPageUse& use = data_.at(page);
  assert(use.live >= fragment.size);
  use.live -= fragment.size;
  live_bytes_ -= fragment.size;
  changed_data_.push_back(page);
  if (!use.fixed) {
    // At most a page's worth of them.
    const auto gone = std::ranges::find(use.uses, PageUse{id, fragment.start});
    assert(gone != use.uses.end());
    *gone = use.uses.back();
    use.uses.pop_back();
  }
}

void Ledger::add_table(PageNumber page, const TableUse& use) {
  tables_[page] = use;
  leaves_ += is_leaf(page, use) ? 1 : 0;
  count_dead(page, use);
}

void Ledger::erase_table(PageNumber page) {
  const auto found = tables_.find(page);
  if (found != tables_.end()) {
    list(sparse_tables_, page, found->second, 0, false);
    leaves_ -= is_leaf(page, found->second) ? 1 : 0;
    leaf_bytes_ -= found->second.counted;
    tables_.erase(found);
  }
  dead_tables_.erase(page);
}

void Ledger::settle() {
  for (const PageNumber page : changed_data_) {
    const auto found = data_.find(page);
    if (found != data_.end()) {
      list(sparse_data_, page, found->second, found->second.live, !found->second.fixed);
    }
  }
  changed_data_ = {};
  for (const PageNumber page : changed_tables_) {
    const auto found = tables_.find(page);
    if (found != tables_.end()) {
      TableUse& use = found->second;
      if (is_leaf(page, use)) {
        leaf_bytes_ += use.coverage() - use.counted;
        use.counted = use.coverage();
        list(sparse_tables_, page, use, use.coverage(), !use.fixed);
      }
    }
  }
  changed_tables_ = {};
}

std::vector<PageNumber> Ledger::take_dead_data() {
  std::vector<PageNumber> out;
  for (const PageNumber page : changed_data_) {
    const auto found = data_.find(page);
    if (found != data_.end() && found->second.live == 0) {
      list(sparse_data_, page, found->second, 0, false);
      out.push_back(page);
      data_.erase(found);
    }
  }
  return out;
}

const DataPageUse* Ledger::data_page(PageNumber page) const {
  const auto found = data_.find(page);
  return found != data_.end() ? &found->second : nullptr;
}

void Ledger::fix_table(PageNumber page) {
  TableUse& use = tables_.at(page);
  use.fixed = true;
  list(sparse_tables_, page, use, 0, false);
}

void Ledger::fix(PageNumber page) {
  DataPageUse& use = data_.at(page);
  use.fixed = true;
  use.uses = {};
  list(sparse_data_, page, use, 0, false);
}

}  // namespace varve::kladde
