// SPDX-License-Identifier: MIT OR Apache-2.0
// The state of a store: what the table says, with the journal's records on top (sections 5
// and 8.2).
#pragma once

#include <algorithm>
#include <cstdint>
#include <expected>
#include <map>
#include <span>
#include <vector>

#include "kladde/allocation.hpp"
#include "kladde/record.hpp"
#include "kladde/rope.hpp"
#include "kladde/walker.hpp"

namespace varve::kladde {

// A stretch of an allocation's bytes: at a file address, or zero.
struct ByteRun {
  std::uint32_t start = 0;
  std::uint32_t size = 0;
  bool zero = true;
  std::uint64_t address = 0;
};

// How many pieces a replay may make with so much memory.
constexpr std::size_t pieces_within(std::uint64_t memory_bytes) {
  constexpr std::uint64_t k_bytes_a_piece = 64;
  constexpr std::uint64_t k_least = 1024;
  return std::max(memory_bytes / k_bytes_a_piece, k_least);
}

class State {
 public:
  // What records have changed about one id since the committed state.
  struct Touched {
    bool exists = false;
    bool recreated = false;  // freed since: nothing of the committed bytes is left in place
    RopePool::Root rope = 0;
  };

  // `committed` is not owned. More than `max_pieces` pieces are refused (a copy can double them),
  // and so are copies that cost more work than a multiple of them.
  explicit State(const Allocations& committed, std::size_t max_pieces = SIZE_MAX)
      : committed_(&committed), max_pieces_(max_pieces) {}
  void set_max_pieces(std::size_t max_pieces) { max_pieces_ = max_pieces; }

  bool exists(Id id) const;
  std::uint32_t size(Id id) const;  // 0 if it does not exist

  // Replays one record. `extents` say where the transaction's record bytes stand in the file. The
  // fault is malformed-transaction (a splice over the size bound) or limit; the state is then
  // undefined.
  std::expected<void, Fault> apply(const Record& record, std::span<const Extent> extents);

  // Calls visit(ByteRun) for the bytes of [from, to) in order; what lies past the size is left out.
  template <class F>
  void for_runs(Id id, std::uint32_t from, std::uint32_t to, F visit) const;
  // The same in the committed state.
  template <class F>
  void for_committed_runs(Id id, std::uint32_t from, std::uint32_t to, F visit) const;

  // Calls visit(Id, const Allocation*) for every id that exists, ascending: with the allocation if
  // no record has touched it, else with nullptr.
  template <class F>
  void for_each(F visit) const;
  // Every id that exists, ascending.
  std::vector<Id> ids() const;
  const std::map<Id, Touched>& touched() const { return touched_; }
  const RopePool& pool() const { return pool_; }
  const Allocations& committed() const { return *committed_; }
  // Forgets the records: what they led to is the committed state now.
  void clear() {
    touched_.clear();
    pool_.clear();
  }

 private:
  using Root = RopePool::Root;
  Touched& touch(Id id);
  void grow(Touched& touched, std::uint64_t end);
  Root payload_rope(const Record& record, std::span<const Extent> extents);
  Root source_rope(Id id, std::uint32_t from, std::uint32_t length);
  void write(const Record& record, std::span<const Extent> extents);
  void overwrite(Root& rope, std::uint32_t offset, std::uint32_t length, Root fresh);
  void zero_source(const Record& record);
  std::expected<void, Fault> splice(const Record& record, std::span<const Extent> extents);
  void transfer(const Record& record);

  const Allocations* committed_;
  std::size_t max_pieces_;
  std::map<Id, Touched> touched_;
  RopePool pool_;
};

// Calls visit(ByteRun) for the bytes of [from, to) of an allocation as its statements have it.
template <class F>
void for_fragment_runs(const FragmentList* fragments, std::uint32_t from, std::uint32_t to,
                       F visit) {
  std::uint64_t at = from;
  if (fragments != nullptr) {
    fragments->for_range(from, to, [&](const Fragment& whole) {
      const Fragment fragment = whole.clipped(from, to);
      if (fragment.start > at) {
        visit(ByteRun{static_cast<std::uint32_t>(at),
                      static_cast<std::uint32_t>(fragment.start - at), true, 0});
      }
      visit(ByteRun{fragment.start, fragment.size, !fragment.has_bytes(), fragment.address});
      at = fragment.end();
    });
  }
  if (at < to) {
    visit(ByteRun{static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(to - at), true, 0});
  }
}

template <class F>
void State::for_committed_runs(Id id, std::uint32_t from, std::uint32_t to, F visit) const {
  const auto found = committed_->find(id);
  for_fragment_runs(found != committed_->end() ? &found->second.fragments : nullptr, from, to,
                    visit);
}

template <class F>
void State::for_each(F visit) const {
  auto changed = touched_.begin();
  const auto visit_changed_below = [&](std::uint64_t bound) {
    for (; changed != touched_.end() && changed->first < bound; ++changed) {
      if (changed->second.exists) {
        visit(changed->first, static_cast<const Allocation*>(nullptr));
      }
    }
  };
  for (const auto& [id, allocation] : *committed_) {
    visit_changed_below(id);
    if (changed != touched_.end() && changed->first == id) {
      visit_changed_below(std::uint64_t{id} + 1);
    } else if (allocation.exists) {
      visit(id, &allocation);
    }
  }
  visit_changed_below(k_max_u32 + 1);
}

template <class F>
void State::for_runs(Id id, std::uint32_t from, std::uint32_t to, F visit) const {
  const std::uint32_t end = std::min(to, size(id));
  if (from >= end) {
    return;
  }
  const auto found = touched_.find(id);
  if (found == touched_.end()) {
    for_committed_runs(id, from, end, visit);
    return;
  }
  pool_.for_range(found->second.rope, from, end, [&](std::uint32_t at, const Piece& piece) {
    if (piece.kind != PieceKind::stored) {
      visit(ByteRun{at, piece.length, piece.kind == PieceKind::zero, piece.at});
      return;
    }
    const auto begin = static_cast<std::uint32_t>(piece.at);
    for_committed_runs(piece.source, begin, begin + piece.length, [&](ByteRun run) {
      run.start = at + (run.start - begin);
      visit(run);
    });
  });
}

}  // namespace varve::kladde
