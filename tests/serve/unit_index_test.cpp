// SPDX-License-Identifier: MIT OR Apache-2.0
// What the map is drawn from: units in bounded memory, pictures of bounded size.
#include "output/unit_index.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace varve::output {
namespace {

ExplainRow unit(std::uint64_t offset, std::uint64_t length, const std::string& field,
                ExplainRow::Check check = ExplainRow::Check::holds) {
  ExplainRow row;
  row.file = "f";
  row.offset = offset;
  row.length = length;
  row.field = field;
  row.check = check;
  return row;
}

UnitIndex index_of(std::size_t units, std::size_t most, const std::vector<Finding>& findings = {}) {
  UnitCollector collector(most);
  for (std::size_t i = 0; i < units; ++i) {
    collector.add(unit(i * 10, 10, (i % 2 == 0 ? "block " : "gap ") + std::to_string(i)));
  }
  return collector.finish(findings);
}

std::uint64_t sum_of(const std::vector<DrawnStretch>& stretches) {
  std::uint64_t sum = 0;
  for (const DrawnStretch& stretch : stretches) {
    sum += stretch.length;
  }
  return sum;
}

TEST(UnitIndex, DrawsAllUnitsWhereThereIsRoom) {
  const UnitIndex index = index_of(6, 100);
  ASSERT_EQ(index.files().size(), 1U);
  const auto drawn = UnitIndex::draw(index.files()[0], 0, 60, 10);
  ASSERT_EQ(drawn.size(), 6U);
  EXPECT_EQ(index.kinds().at(drawn[0].kind), "block");
  EXPECT_EQ(index.kinds().at(drawn[1].kind), "gap");
  EXPECT_EQ(drawn[3].offset, 30U);
  EXPECT_EQ(drawn[3].length, 10U);
}

TEST(UnitIndex, DrawsNoMoreThanAskedForAndNothingIsMissing) {
  const UnitIndex index = index_of(10'000, 100'000);
  for (const std::size_t most : {1U, 2U, 7U, 999U}) {
    const auto drawn = UnitIndex::draw(index.files()[0], 0, 100'000, most);
    EXPECT_LE(drawn.size(), most);
    EXPECT_EQ(sum_of(drawn), 100'000U);
  }
  const auto part = UnitIndex::draw(index.files()[0], 505, 515, 100);
  ASSERT_EQ(part.size(), 2U) << "the units that the window cuts";
  EXPECT_EQ(part[0].offset, 500U);
  EXPECT_TRUE(UnitIndex::draw(index.files()[0], 100'000, 200'000, 5).empty());
}

TEST(UnitIndex, ManyUnitsAreJoinedAndStillAddUp) {
  const UnitIndex index = index_of(10'000, 64);
  EXPECT_LE(index.files()[0].units.size(), 65U);
  EXPECT_EQ(index.files()[0].unit_count, 10'000U);
  const auto drawn = UnitIndex::draw(index.files()[0], 0, 100'000, 1'000);
  EXPECT_EQ(sum_of(drawn), 100'000U);
  std::uint64_t units = 0;
  for (const DrawnStretch& stretch : drawn) {
    units += stretch.units;
  }
  EXPECT_EQ(units, 10'000U);
  EXPECT_EQ(UnitIndex::place_of(index.files()[0], 0, 3), std::nullopt);
}

TEST(UnitIndex, AHurtUnitIsSeenHoweverNarrow) {
  Finding finding;
  finding.file = "f";
  finding.offset = 54'321;
  const UnitIndex index = index_of(10'000, 100'000, {finding});
  EXPECT_EQ(index.files()[0].worst, UnitState::hurt);
  const auto drawn = UnitIndex::draw(index.files()[0], 0, 100'000, 10);
  EXPECT_EQ(drawn.at(5).state, UnitState::hurt);
  EXPECT_EQ(drawn.at(4).state, UnitState::holds);
}

TEST(UnitIndex, FindsAUnitByItsNumberAmongItsLike) {
  const UnitIndex index = index_of(10, 100);
  EXPECT_EQ(UnitIndex::place_of(index.files()[0], 0, 2), 40U);
  EXPECT_EQ(UnitIndex::place_of(index.files()[0], 0, 5), std::nullopt);
}

TEST(UnitIndex, KindsAreBoundedWhateverTheBytesSay) {
  UnitCollector collector(10'000);
  for (std::uint64_t i = 0; i < 1'000; ++i) {
    collector.add(unit(i, 1, "kind" + std::string(i, 'x')));
  }
  const UnitIndex index = collector.finish({});
  EXPECT_LE(index.kinds().size(), 201U);
  EXPECT_EQ(sum_of(UnitIndex::draw(index.files()[0], 0, 1'000, 1'000)), 1'000U);
}

}  // namespace
}  // namespace varve::output
