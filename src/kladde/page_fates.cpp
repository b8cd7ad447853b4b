// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kladde/page_fates.hpp"

#include <iterator>

namespace varve::kladde {

// Makes a run begin at the page, if one reaches over it.
void PageFates::cut_at(std::uint64_t page) {
  const auto next = runs_.upper_bound(page);
  if (next == runs_.begin()) {
    return;
  }
  Run& run = std::prev(next)->second;
  if (std::prev(next)->first < page && page < run.end) {
    runs_.emplace_hint(next, page, run);
    run.end = page;
  }
}

void PageFates::assign(std::uint64_t first, std::uint64_t end, const PageFate& fate) {
  if (first >= end) {
    return;
  }
  cut_at(first);
  cut_at(end);
  const auto behind = runs_.erase(runs_.lower_bound(first), runs_.lower_bound(end));
  const auto entry = runs_.emplace_hint(behind, first, Run{end, fate});
  if (behind != runs_.end() && behind->first == end && behind->second.fate == fate) {
    entry->second.end = behind->second.end;
    runs_.erase(behind);
  }
  if (entry == runs_.begin()) {
    return;
  }
  const auto before = std::prev(entry);
  if (before->second.end == first && before->second.fate == fate) {
    before->second.end = entry->second.end;
    runs_.erase(entry);
  }
}

}  // namespace varve::kladde
