// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kladde/page_fates.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace varve::kladde {
namespace {

// The intervals say what an array with an entry a page says, and neighbours of one fate are joined.
TEST(PageFates, AgreeWithAnArrayOfPages) {
  const std::vector<PageFate> kinds = {{"data pages", "", Fate::kept},
                                       {"data page", "page-check", Fate::lost},
                                       {"table pages", "", Fate::rebuilt}};
  constexpr std::uint64_t k_pages = 40;
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    PageFates fates;
    std::vector<const PageFate*> expected(k_pages, nullptr);
    for (int step = 0; step < 25; ++step) {
      const std::uint64_t first = random() % k_pages;
      const std::uint64_t end = first + random() % (k_pages - first + 1);
      const PageFate& kind = kinds[random() % kinds.size()];
      fates.assign(first, end, kind);
      std::fill(expected.begin() + static_cast<std::ptrdiff_t>(first),
                expected.begin() + static_cast<std::ptrdiff_t>(end), &kind);
    }
    std::vector<const PageFate*> got(k_pages, nullptr);
    std::uint64_t last_end = 0;
    PageFate last_fate;
    for (const auto& [first, run] : fates.runs()) {
      ASSERT_LT(first, run.end);
      ASSERT_GE(first, last_end);
      ASSERT_FALSE(first == last_end && run.fate == last_fate);
      for (std::uint64_t page = first; page < run.end; ++page) {
        for (const PageFate& kind : kinds) {
          got[page] = kind == run.fate ? &kind : got[page];
        }
      }
      last_end = run.end;
      last_fate = run.fate;
    }
    ASSERT_EQ(got, expected) << "round " << round;
  }
}

}  // namespace
}  // namespace varve::kladde
