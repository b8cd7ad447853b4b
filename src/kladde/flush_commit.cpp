// SPDX-License-Identifier: MIT OR Apache-2.0
// The last part of a flush: what was written becomes the committed state in memory, exactly as an
// open of the file would resolve it.
#include <algorithm>

#include "kladde/flush.hpp"

namespace varve::kladde {

void Flush::commit() {
  Ledger& ledger = store_.ledger;
  const auto add_table = [&](PageNumber page, std::uint32_t statements, base::ByteSpan content) {
    TableUse use;
    use.epoch = epoch_;
    use.statements = statements;
    use.content_bytes = static_cast<std::uint32_t>(content.size());
    use.interior = page >= k_slot_count && !layout_.shape.leaves.contains(page);
    ledger.add_table(page, use);
  };
  add_table(slot_, layout_.header_statements, layout_.header_content);
  for (const NewTable& table : layout_.pages) {
    add_table(table.page, table.statements, table.content);
  }
  std::size_t first = 0;
  for (std::uint32_t p = 0; p < plans_.size(); ++p) {
    std::size_t end = first;
    while (end < statements_.size() && statements_[end].plan == p) {
      ++end;
    }
    apply(plans_[p], std::span(statements_).subspan(first, end - first));
    first = end;
    if (plans_[p].touched && !plans_[p].exists && !store_.recovering) {
      store_.unused_ids.insert(plans_[p].id);
    }
  }
  drop_pages();
  ledger.settle();
  store_.bytes_moved += consolidation_.bytes;
  store_.shape = std::move(layout_.shape);
  store_.mixed_tables.clear();
  store_.space.committed();
  store_.state.clear();
  store_.journal.begin(epoch_ + 1, next_journal_);
  store_.recovered_journal.clear();
  store_.first_flush = false;
  store_.must_flush = false;
}

void Flush::replace(Id id, FragmentList& fragments, std::uint64_t from, std::uint64_t to,
                    std::span<const Fragment> fresh) {
  fragments.replace(
      from, to, fresh, [&](const Fragment& fragment) { store_.ledger.remove(id, fragment); },
      [&](const Fragment& fragment) { store_.ledger.add(id, fragment); });
}

void Flush::apply(const PlannedId& plan, std::span<const NewStatement> statements) {
  const auto present = plan.present_kept + static_cast<std::uint32_t>(statements.size());
  Allocation& allocation = store_.committed[plan.id];
  for (const ByteRange& range : plan.cleared) {
    replace(plan.id, allocation.fragments, range.from, range.to, {});
  }
  const NewStatement* anchor = nullptr;
  const NewStatement* size = nullptr;
  for (const NewStatement& made : statements) {
    const Statement& statement = made.statement;
    if (statement.kind == StatementKind::shrink || statement.kind == StatementKind::tombstone) {
      anchor = &made;
    } else if (!statement.is_content() || statement.sizing) {
      size = &made;
    }
    if (!statement.is_content()) {
      continue;
    }
    Fragment fragment{statement.offset, statement.size, made.table, FragmentKind::zero, 0};
    if (statement.kind == StatementKind::ref) {
      fragment.kind = FragmentKind::ref;
      fragment.address = statement.address;
    } else if (statement.kind == StatementKind::in_line) {
      fragment.kind = FragmentKind::in_line;
      fragment.address = content_address(made.table) + made.in_content;
    }
    replace(plan.id, allocation.fragments, fragment.start, fragment.end(), {&fragment, 1});
  }
  const std::uint32_t old_size = allocation.size;
  const PageNumber old_anchor = allocation.anchor_table;
  allocation.exists = plan.exists;
  allocation.size = plan.size;
  allocation.present = present;
  apply_anchor(plan, allocation, anchor);
  if (plan.exists) {
    deny_growth(plan, allocation, old_size);
  }
  apply_witness(plan, allocation, old_anchor, anchor, size);
  if (!plan.exists && present == 0) {
    store_.committed.erase(plan.id);
  }
}

void Flush::apply_anchor(const PlannedId& plan, Allocation& allocation,
                         const NewStatement* anchor) {
  const PageNumber old = allocation.anchor_table;
  store_.ledger.rest_no_more(old);
  if (anchor != nullptr) {
    allocation.older = plan.present_kept;
    allocation.anchor_table = anchor->table;
    allocation.anchor_bound = anchor->statement.offset;
  } else if (store_.options.dialect == Dialect::b && plan.exists) {
    allocation.older = 0;
  } else {
    allocation.older = plan.older_kept;
  }
  if (allocation.older == 0) {
    allocation.anchor_table = k_no_table;
    allocation.anchor_bound = 0;
  }
  store_.ledger.rest_on(allocation.anchor_table);
  if (allocation.anchor_table == k_no_table && old != k_no_table) {
    // An anchor over nothing older denies nothing: its bytes are zero anyway.
    std::vector<Fragment> denied;
    allocation.fragments.for_each([&](const Fragment& fragment) {
      if (fragment.kind == FragmentKind::denied && fragment.table == old) {
        denied.push_back(fragment);
      }
    });
    for (const Fragment& fragment : denied) {
      replace(plan.id, allocation.fragments, fragment.start, fragment.end(), {});
    }
  }
}

// Bytes that growth exposed under an anchor that stays are decided by it.
void Flush::deny_growth(const PlannedId& plan, Allocation& allocation, std::uint32_t old_size) {
  if (allocation.anchor_table == k_no_table || plan.size <= old_size) {
    return;
  }
  std::vector<ByteRange> gaps;
  std::uint32_t done = old_size;
  allocation.fragments.for_range(old_size, plan.size, [&](const Fragment& fragment) {
    if (fragment.start > done) {
      gaps.push_back({done, fragment.start});
    }
    done = static_cast<std::uint32_t>(fragment.end());
  });
  if (done < plan.size) {
    gaps.push_back({done, plan.size});
  }
  for (const ByteRange& gap : gaps) {
    const Fragment fragment{gap.from, gap.to - gap.from, allocation.anchor_table,
                            FragmentKind::denied, 0};
    replace(plan.id, allocation.fragments, gap.from, gap.to, {&fragment, 1});
  }
}

void Flush::apply_witness(const PlannedId& plan, Allocation& allocation, PageNumber old_anchor,
                          const NewStatement* anchor, const NewStatement* size) {
  const PageNumber old = allocation.witness_table;
  store_.ledger.rest_no_more(old);
  PageNumber now = k_no_table;
  if (plan.exists && store_.options.dialect == Dialect::b) {
    now = size != nullptr ? size->table : old;
  } else if (plan.exists) {
    const Fragment* last = plan.size > 0 ? allocation.fragments.at(plan.size - 1) : nullptr;
    const bool by_content = last != nullptr && last->kind != FragmentKind::denied;
    if (by_content) {
      now = k_no_table;
    } else if (anchor != nullptr) {
      now = allocation.anchor_table == k_no_table ? anchor->table : k_no_table;
    } else if (size != nullptr) {
      now = size->table;
    } else if (plan.witness_kept) {
      // Where it was the anchor that said the size, it is a mere witness once nothing older is
      // left.
      now = old != k_no_table                       ? old
            : allocation.anchor_table == k_no_table ? old_anchor
                                                    : k_no_table;
    }
  }
  allocation.witness_table = now;
  store_.ledger.rest_on(now);
}

void Flush::drop_pages() {
  std::set<PageNumber> gone = dropped_pages_;
  gone.insert(layout_.dropped_interior.begin(), layout_.dropped_interior.end());
  for (const PageNumber page : gone) {
    store_.ledger.erase_table(page);
  }
  gone.erase(old_slot_);
  for (const PageNumber page : store_.ledger.take_dead_data()) {
    gone.insert(page);
  }
  gone.insert(store_.journal.pages().begin(), store_.journal.pages().end());
  gone.insert(store_.recovered_journal.begin(), store_.recovered_journal.end());
  // A first page that nothing was appended to was reserved all the same.
  if (old_journal_ >= k_first_free_page && old_journal_ < store_.space.page_count() &&
      old_journal_ != next_journal_) {
    gone.insert(old_journal_);
  }
  for (const PageNumber page : gone) {
    store_.space.drop(page);
  }
}

}  // namespace varve::kladde
