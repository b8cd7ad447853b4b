// SPDX-License-Identifier: MIT OR Apache-2.0
#include "model/tally.hpp"

#include <gtest/gtest.h>

namespace varve::model {
namespace {

TEST(Tally, ExactFiguresAndNearQuantiles) {
  Tally tally;
  for (std::uint64_t v = 1; v <= 100'000; ++v) {
    tally.add(v);
  }
  const Distribution d = tally.finish("size", "bytes");
  EXPECT_EQ(d.count, 100'000U);
  EXPECT_EQ(d.sum, 5'000'050'000U);
  EXPECT_EQ(d.minimum, 1U);
  EXPECT_EQ(d.maximum, 100'000U);
  EXPECT_NEAR(static_cast<double>(d.p50), 50'000, 50'000 / 16.0);
  EXPECT_NEAR(static_cast<double>(d.p90), 90'000, 90'000 / 16.0);
  EXPECT_NEAR(static_cast<double>(d.p99), 99'000, 99'000 / 16.0);
  ASSERT_EQ(d.by_bit_width.size(), 18U);
  EXPECT_EQ(d.by_bit_width[0], 0U);
  EXPECT_EQ(d.by_bit_width[1], 1U);
  EXPECT_EQ(d.by_bit_width[10], 512U);
}

TEST(Tally, TakesEveryValueAndNone) {
  EXPECT_EQ(Tally().finish("size", "bytes").count, 0U);
  Tally tally;
  tally.add(0);
  tally.add(UINT64_MAX);
  const Distribution d = tally.finish("size", "bytes");
  EXPECT_EQ(d.minimum, 0U);
  EXPECT_EQ(d.maximum, UINT64_MAX);
  EXPECT_EQ(d.by_bit_width.size(), 65U);
  EXPECT_EQ(d.by_bit_width[64], 1U);
}

TEST(CategoryTally, SortsAndBoundsNames) {
  CategoryTally tally(2);
  tally.add("rare", 1, 10);
  tally.add("often", 5, 50);
  tally.add("late", 7, 70);
  const Distribution d = tally.finish("kinds");
  ASSERT_EQ(d.categories.size(), 3U);
  EXPECT_EQ(d.categories[0].name, "often");
  EXPECT_EQ(d.categories[1].name, "rare");
  EXPECT_EQ(d.categories[2].name, "(others)");
  EXPECT_EQ(d.categories[2].bytes, 70U);
}

}  // namespace
}  // namespace varve::model
