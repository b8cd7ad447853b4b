// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kladde/page_set.hpp"

#include <cassert>
#include <iterator>

namespace varve::kladde {

bool PageSet::contains(std::uint64_t page) const {
  const auto after = runs_.upper_bound(page);
  return after != runs_.begin() && page < std::prev(after)->second;
}

bool PageSet::insert(std::uint64_t page) {
  if (contains(page)) {
    return false;
  }
  insert_run(page, page + 1);
  return true;
}

void PageSet::insert_run(std::uint64_t first, std::uint64_t end) {
  if (first >= end) {
    return;
  }
  count_ += end - first;
  auto after = runs_.lower_bound(first);
  assert(after == runs_.end() || after->first >= end);
  if (after != runs_.end() && after->first == end) {
    end = after->second;
    after = runs_.erase(after);
  }
  if (after != runs_.begin()) {
    const auto before = std::prev(after);
    assert(before->second <= first);
    if (before->second == first) {
      before->second = end;
      return;
    }
  }
  runs_.emplace_hint(after, first, end);
}

bool PageSet::erase(std::uint64_t page) {
  const auto after = runs_.upper_bound(page);
  if (after == runs_.begin()) {
    return false;
  }
  const auto run = std::prev(after);
  const std::uint64_t end = run->second;
  if (page >= end) {
    return false;
  }
  --count_;
  if (run->first == page) {
    runs_.erase(run);
  } else {
    run->second = page;
  }
  if (page + 1 < end) {
    runs_.emplace(page + 1, end);
  }
  return true;
}

void PageSet::erase_from(std::uint64_t first) {
  while (!runs_.empty()) {
    const auto last = std::prev(runs_.end());
    if (last->second <= first) {
      return;
    }
    if (last->first >= first) {
      count_ -= last->second - last->first;
      runs_.erase(last);
    } else {
      count_ -= last->second - first;
      last->second = first;
      return;
    }
  }
}

std::optional<std::uint64_t> PageSet::lowest() const {
  if (runs_.empty()) {
    return std::nullopt;
  }
  return runs_.begin()->first;
}

std::optional<std::uint64_t> PageSet::take_lowest() {
  const auto page = lowest();
  if (page) {
    erase(*page);
  }
  return page;
}

std::uint64_t PageSet::run_before(std::uint64_t end) const {
  const auto after = runs_.lower_bound(end);
  if (after != runs_.begin() && std::prev(after)->second == end) {
    return std::prev(after)->first;
  }
  return end;
}

}  // namespace varve::kladde
