// SPDX-License-Identifier: MIT OR Apache-2.0
// What a salvage says about each page of a file, kept as intervals: its memory follows the number
// of runs, not of pages.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

#include "varve/salvage.hpp"

namespace varve::kladde {

struct PageFate {
  std::string_view unit;  // not owned, like the reason
  std::string_view reason;
  Fate fate = Fate::kept;

  bool operator==(const PageFate&) const = default;
};

class PageFates {
 public:
  struct Run {
    std::uint64_t end = 0;  // one past the last page
    PageFate fate;
  };

  // Says it of [first, end), whatever was said of these pages before.
  void assign(std::uint64_t first, std::uint64_t end, const PageFate& fate);
  // By their first pages. Neighbours of one fate are one run.
  const std::map<std::uint64_t, Run>& runs() const { return runs_; }

 private:
  void cut_at(std::uint64_t page);

  std::map<std::uint64_t, Run> runs_;
};

}  // namespace varve::kladde
