// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kladde/resolver.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <queue>

namespace varve::kladde {

namespace {

constexpr std::uint64_t k_unbounded = UINT64_MAX;

bool is_anchor(const Statement& statement) {
  return statement.kind == StatementKind::shrink || statement.kind == StatementKind::tombstone;
}

// A stretch of bytes that a statement matches.
struct Interval {
  std::uint64_t start;
  std::uint64_t end;
  std::uint64_t epoch;
  const Statement* statement;
};

// Newest first; of one epoch the later statement, so that the outcome does not depend on the order
// of the heap.
struct Weaker {
  bool operator()(const Interval& a, const Interval& b) const {
    if (a.epoch != b.epoch) {
      return a.epoch < b.epoch;
    }
    return a.statement < b.statement;
  }
};

Fragment fragment_of(const Interval& winner, std::uint64_t from, std::uint64_t to,
                     std::span<const TablePage> pages) {
  const Statement& statement = *winner.statement;
  Fragment out;
  out.start = static_cast<std::uint32_t>(from);
  out.size = static_cast<std::uint32_t>(to - from);
  out.table = pages[statement.table].page;
  switch (statement.kind) {
    case StatementKind::ref:
      out.kind = FragmentKind::ref;
      break;
    case StatementKind::in_line:
      out.kind = FragmentKind::in_line;
      break;
    case StatementKind::zero:
      out.kind = FragmentKind::zero;
      break;
    default:
      out.kind = FragmentKind::denied;
      break;
  }
  if (out.has_bytes()) {
    out.address = statement.address + (from - winner.start);
  }
  return out;
}

// Sweeps the intervals (sorted by start) up to `size`: the winner changes only where an interval
// starts or ends.
std::vector<Fragment> sweep(std::span<const Interval> intervals, std::uint64_t size,
                            std::span<const TablePage> pages) {
  std::vector<Fragment> out;
  std::priority_queue<Interval, std::vector<Interval>, Weaker> open;
  std::size_t next = 0;
  std::uint64_t at = 0;
  const Statement* last = nullptr;  // the winner of the stretch before, if it touches
  while (at < size) {
    for (; next < intervals.size() && intervals[next].start <= at; ++next) {
      open.push(intervals[next]);
    }
    while (!open.empty() && open.top().end <= at) {
      open.pop();
    }
    std::uint64_t until = next < intervals.size() ? intervals[next].start : k_unbounded;
    if (open.empty()) {
      at = std::min(until, size);
      last = nullptr;
      continue;
    }
    const Interval& winner = open.top();
    until = std::min({until, winner.end, size});
    if (winner.statement == last) {
      out.back().size += static_cast<std::uint32_t>(until - at);
    } else {
      out.push_back(fragment_of(winner, at, until, pages));
      last = winner.statement;
    }
    at = until;
  }
  return out;
}

class OneId {
 public:
  OneId(std::span<const Statement> statements, std::span<const TablePage> pages, Dialect dialect)
      : statements_(statements), pages_(pages), dialect_(dialect) {}

  Resolution run() {
    Resolution out;
    Allocation& allocation = out.allocation;
    allocation.present = static_cast<std::uint32_t>(statements_.size());
    find_existence(allocation);
    if (dialect_ == Dialect::a) {
      find_size_a(allocation);
    } else {
      out.fault = find_size_b(allocation);
    }
    if (allocation.exists && allocation.size > 0) {
      fill(allocation, out.fault);
    }
    if (dialect_ == Dialect::a) {
      find_witness(allocation);
    }
    return out;
  }

 private:
  std::uint64_t epoch(const Statement& statement) const { return pages_[statement.table].epoch; }
  PageNumber page(const Statement& statement) const { return pages_[statement.table].page; }

  void find_existence(Allocation& out) {
    std::uint64_t newest = 0;
    for (const Statement& statement : statements_) {
      newest = std::max(newest, epoch(statement));
    }
    out.exists = std::none_of(statements_.begin(), statements_.end(), [&](const Statement& s) {
      return s.kind == StatementKind::tombstone && epoch(s) == newest;
    });
  }

  void find_size_a(Allocation& out) {
    for (const Statement& statement : statements_) {
      if (is_anchor(statement) && (anchor_ == nullptr || epoch(statement) >= epoch(*anchor_))) {
        anchor_ = &statement;
      }
    }
    for (const Statement& statement : statements_) {
      if (anchor_ != nullptr && epoch(statement) < epoch(*anchor_)) {
        ++out.older;
      }
    }
    if (anchor_ != nullptr && out.older > 0) {
      out.anchor_table = page(*anchor_);
      out.anchor_bound = anchor_->offset;
    }
    if (!out.exists) {
      return;
    }
    std::uint64_t size = anchor_ != nullptr ? anchor_->offset : 0;
    for (const Statement& statement : statements_) {
      if (!is_anchor(statement) && counts(statement)) {
        size = std::max(size, statement.end());
      }
    }
    out.size = static_cast<std::uint32_t>(size);
  }

  // Whether a statement is new enough to speak about the size.
  bool counts(const Statement& statement) const {
    return anchor_ == nullptr || epoch(statement) > epoch(*anchor_);
  }

  std::optional<Fault> find_size_b(Allocation& out) {
    const Statement* newest = nullptr;
    std::optional<Fault> fault;
    for (const Statement& statement : statements_) {
      const bool states = statement.sizing || statement.kind == StatementKind::size ||
                          statement.kind == StatementKind::tombstone;
      if (!states) {
        continue;
      }
      if (newest == nullptr || epoch(statement) > epoch(*newest)) {
        newest = &statement;
        fault.reset();
      } else if (epoch(statement) == epoch(*newest)) {
        fault = Fault{word::two_sizes, statement.position, {}, {}};
      }
    }
    if (newest != nullptr && newest->kind == StatementKind::tombstone) {
      if (!out.exists) {
        out.anchor_table = page(*newest);
        out.older = out.present - 1;
      }
      return fault;
    }
    if (newest != nullptr && out.exists) {
      out.size = static_cast<std::uint32_t>(newest->end());
      out.witness_table = page(*newest);
    }
    return fault;
  }

  // The commonest case: one content statement says it all.
  bool fill_from_one(Allocation& out) {
    const Statement& only = statements_.front();
    if (statements_.size() != 1 || !only.is_content() || only.size == 0 ||
        (dialect_ == Dialect::b && only.offset != 0)) {
      return false;
    }
    const Fragment fragment =
        fragment_of({only.offset, only.end(), 0, &only}, only.offset, only.end(), pages_);
    out.fragments.assign({&fragment, 1});
    return true;
  }

  void fill(Allocation& out, std::optional<Fault>& fault) {
    if (fill_from_one(out)) {
      return;
    }
    std::vector<Interval> intervals;
    intervals.reserve(statements_.size());
    for (const Statement& statement : statements_) {
      const std::uint64_t from = statement.offset;
      if (statement.is_content() && statement.size > 0) {
        intervals.push_back({from, statement.end(), epoch(statement), &statement});
      } else if (dialect_ == Dialect::a && is_anchor(statement)) {
        intervals.push_back({from, k_unbounded, epoch(statement), &statement});
      }
    }
    std::sort(intervals.begin(), intervals.end(),
              [](const Interval& a, const Interval& b) { return a.start < b.start; });
    std::vector<Fragment> fragments = sweep(intervals, out.size, pages_);
    if (dialect_ == Dialect::a && anchor_ != nullptr && out.older == 0) {
      // An anchor over nothing older denies nothing: its bytes are zero anyway.
      std::erase_if(fragments, [&](const Fragment& fragment) {
        return fragment.kind == FragmentKind::denied && fragment.table == page(*anchor_);
      });
    }
    out.fragments.assign(fragments);
    if (dialect_ == Dialect::b && !fault && out.fragments.covered() != out.size) {
      std::uint64_t covered_to = 0;
      for (const Fragment& fragment : fragments) {
        if (fragment.start != covered_to) {
          break;
        }
        covered_to = fragment.end();
      }
      fault = Fault{word::uncovered, covered_to, Number::decimal(out.size),
                    Number::decimal(covered_to)};
    }
  }

  // The statement that the size rests on, where no content fragment ends at it.
  void find_witness(Allocation& out) {
    if (!out.exists) {
      return;
    }
    if (out.size > 0) {
      const Fragment* last = out.fragments.at(out.size - 1);
      if (last != nullptr && last->kind != FragmentKind::denied) {
        return;
      }
    }
    if (anchor_ != nullptr && anchor_->kind == StatementKind::shrink &&
        anchor_->offset == out.size) {
      if (out.anchor_table == k_no_table) {
        out.witness_table = page(*anchor_);
      }
      return;
    }
    for (const Statement& statement : statements_) {
      if (!is_anchor(statement) && counts(statement) && statement.end() == out.size) {
        out.witness_table = page(statement);
      }
    }
  }

  std::span<const Statement> statements_;
  std::span<const TablePage> pages_;
  Dialect dialect_;
  const Statement* anchor_ = nullptr;
};

// Indexes of the statements ordered by id, in their own order within an id: a radix sort, since a
// table holds few pages' worth of sorted runs but many of them.
std::vector<std::uint32_t> order_by_id(std::span<const Statement> statements) {
  std::vector<std::uint32_t> order(statements.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  std::vector<std::uint32_t> other(order.size());
  for (unsigned shift = 0; shift < 32; shift += 8) {
    std::array<std::size_t, 257> counts{};
    for (const Statement& statement : statements) {
      ++counts[((statement.id >> shift) & 0xFF) + 1];
    }
    if (std::find(counts.begin(), counts.end(), order.size()) != counts.end()) {
      continue;  // all ids agree in this byte
    }
    for (std::size_t i = 1; i < counts.size(); ++i) {
      counts[i] += counts[i - 1];
    }
    for (const std::uint32_t index : order) {
      other[counts[(statements[index].id >> shift) & 0xFF]++] = index;
    }
    order.swap(other);
  }
  return order;
}

}  // namespace

Resolution resolve(std::span<const Statement> statements, std::span<const TablePage> pages,
                   Dialect dialect) {
  assert(!statements.empty());
  return OneId(statements, pages, dialect).run();
}

Result<void> resolve_all(const TableTree& tree, Dialect dialect, const TakeResolution& take) {
  const std::vector<std::uint32_t> order = order_by_id(tree.statements);
  std::vector<Statement> group;
  for (std::size_t i = 0; i < order.size();) {
    const Id id = tree.statements[order[i]].id;
    group.clear();
    for (; i < order.size() && tree.statements[order[i]].id == id; ++i) {
      group.push_back(tree.statements[order[i]]);
    }
    VARVE_TRY(take(id, group, resolve(group, tree.pages, dialect)));
  }
  return {};
}

}  // namespace varve::kladde
