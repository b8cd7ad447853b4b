// SPDX-License-Identifier: MIT OR Apache-2.0
// Which statement decides which bytes of one allocation: an ordered list of disjoint fragments with
// cheap changes in the middle.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kladde/layout.hpp"

namespace varve::kladde {

enum class FragmentKind : std::uint8_t {
  ref,      // bytes of a data page
  in_line,  // bytes of a table page
  zero,     // a Zero statement
  denied,   // a Shrink or Tombstone: zero, and no witness of the size
};

// A maximal stretch of bytes that one statement decides. Bytes in no fragment are zero because no
// statement matches them.
struct Fragment {
  std::uint32_t start = 0;
  std::uint32_t size = 0;
  PageNumber table = 0;  // the table page that holds the statement
  FragmentKind kind = FragmentKind::ref;
  std::uint64_t address = 0;  // ref and in_line: where the bytes stand in the file

  std::uint64_t end() const { return std::uint64_t{start} + size; }
  bool has_bytes() const { return kind == FragmentKind::ref || kind == FragmentKind::in_line; }
  // The part of the fragment within [from, to), which must not be empty.
  Fragment clipped(std::uint64_t from, std::uint64_t to) const;
};

class FragmentList {
 public:
  FragmentList() = default;
  FragmentList(FragmentList&&) noexcept = default;
  FragmentList& operator=(FragmentList&&) noexcept = default;

  bool empty() const { return count_ == 0; }
  std::size_t count() const { return count_; }
  // Sum of the sizes.
  std::uint64_t covered() const { return covered_; }
  // Takes sorted, disjoint fragments; the list must be empty.
  void assign(std::span<const Fragment> fragments);

  // Calls `visit` with every fragment that reaches into [from, to), whole and in order.
  template <class F>
  void for_range(std::uint64_t from, std::uint64_t to, F visit) const;
  template <class F>
  void for_each(F visit) const {
    for_range(0, UINT64_MAX, visit);
  }
  // The fragment that holds the byte, or nullptr.
  const Fragment* at(std::uint64_t byte) const;

  // Makes [from, to) consist of `fresh` (sorted, disjoint, within the range) and nothing else.
  // `removed` gets each fragment that goes, whole; `added` what stands instead: what is left of
  // those on both sides, and `fresh`.
  template <class R, class A>
  void replace(std::uint64_t from, std::uint64_t to, std::span<const Fragment> fresh, R removed,
               A added);

 private:
  using Chunk = std::vector<Fragment>;
  struct Position {
    std::size_t chunk = 0;
    std::size_t index = 0;
  };
  std::span<const Fragment> chunk(std::size_t i) const;
  std::size_t chunk_count() const { return many_ ? many_->size() : (count_ > 0 ? 1 : 0); }
  // The first fragment that ends behind `byte`.
  Position first_ending_behind(std::uint64_t byte) const;
  void splice(Position first, std::size_t removed_count, std::span<const Fragment> instead);
  void tidy(std::size_t chunk);

  std::uint64_t covered_ = 0;
  std::size_t count_ = 0;
  Fragment one_;  // the only fragment, while there is no more than one
  std::unique_ptr<std::vector<Chunk>> many_;
};

template <class F>
void FragmentList::for_range(std::uint64_t from, std::uint64_t to, F visit) const {
  if (count_ == 0 || from >= to) {
    return;
  }
  Position at = first_ending_behind(from);
  for (; at.chunk < chunk_count(); ++at.chunk, at.index = 0) {
    const auto fragments = chunk(at.chunk);
    for (; at.index < fragments.size(); ++at.index) {
      if (fragments[at.index].start >= to) {
        return;
      }
      visit(fragments[at.index]);
    }
  }
}

template <class R, class A>
void FragmentList::replace(std::uint64_t from, std::uint64_t to, std::span<const Fragment> fresh,
                           R removed, A added) {
  std::vector<Fragment> instead;
  Fragment right;
  std::size_t removed_count = 0;
  for_range(from, to, [&](const Fragment& old) {
    removed(old);
    covered_ -= old.size;
    ++removed_count;
    if (old.start < from) {
      instead.push_back(old.clipped(old.start, from));
    }
    if (old.end() > to) {
      right = old.clipped(to, old.end());
    }
  });
  instead.insert(instead.end(), fresh.begin(), fresh.end());
  if (right.size > 0) {
    instead.push_back(right);
  }
  for (const Fragment& fragment : instead) {
    added(fragment);
    covered_ += fragment.size;
  }
  splice(first_ending_behind(from), removed_count, instead);
}

}  // namespace varve::kladde
