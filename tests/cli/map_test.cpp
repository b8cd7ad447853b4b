// SPDX-License-Identifier: MIT OR Apache-2.0
// `map`: the picture as data, as text and as a page.
#include <gmock/gmock.h>

#include "tests/cli/fake_format.hpp"
#include "verbs/map_page.hpp"

namespace varve::test {
namespace {

using output::MapCollector;
using output::StoreMapPicture;
using output::UnitState;
using testing::HasSubstr;
using testing::Not;

ExplainRow row(std::uint64_t offset, std::uint64_t length, const char* field, const char* value,
               ExplainRow::Check check, unsigned depth = 0) {
  ExplainRow out;
  out.file = "f";
  out.offset = offset;
  out.length = length;
  out.field = field;
  out.value = value;
  out.check = check;
  out.depth = depth;
  out.container = depth == 0;
  return out;
}

TEST(Map, UnitsTakeTheWorstStateOfTheirPartsAndFindings) {
  MapCollector collector(100);
  using Check = ExplainRow::Check;
  collector.add(row(0, 10, "page 0", "data page", Check::holds));
  collector.add(row(10, 10, "record 1", "seq 1", Check::none));
  collector.add(row(12, 4, "checksum", "0x1", Check::fails, 1));
  collector.add(row(20, 10, "footer", "", Check::holds));
  Finding warning;
  warning.severity = Severity::warning;
  warning.file = "f";
  warning.offset = 25;
  Finding elsewhere;
  elsewhere.file = "g";
  const StoreMapPicture picture = collector.finish({warning, elsewhere});
  ASSERT_EQ(picture.files.size(), 1U);
  const auto& units = picture.files[0].units;
  ASSERT_EQ(units.size(), 3U);
  EXPECT_EQ(picture.files[0].bytes, 30U);
  EXPECT_EQ(units[0].kind, "data page");
  EXPECT_EQ(units[0].state, UnitState::holds);
  EXPECT_EQ(units[1].kind, "record");
  EXPECT_EQ(units[1].state, UnitState::hurt);
  ASSERT_EQ(units[1].fields.size(), 1U);
  EXPECT_TRUE(units[1].fields[0].wrong);
  EXPECT_EQ(units[2].state, UnitState::noticed);
  EXPECT_EQ(picture.elsewhere.size(), 1U);
}

TEST(Map, ManyNeighboursOfOneKindAreDrawnTogether) {
  MapCollector collector(10);
  std::uint64_t at = 0;
  for (int i = 0; i < 5000; ++i, at += 7) {
    collector.add(
        row(at, 7, "frame", "", i == 2500 ? ExplainRow::Check::fails : ExplainRow::Check::holds));
  }
  const StoreMapPicture picture = collector.finish({});
  const auto& units = picture.files.at(0).units;
  EXPECT_LE(units.size(), 20U);
  std::uint64_t end = 0;
  std::uint64_t count = 0;
  std::uint64_t hurt = 0;
  for (const auto& unit : units) {
    EXPECT_EQ(unit.offset, end);
    end += unit.length;
    count += unit.count;
    hurt += unit.state == UnitState::hurt ? unit.count : 0;
  }
  EXPECT_EQ(end, at);
  EXPECT_EQ(count, 5000U);
  EXPECT_EQ(hurt, 1U);
}

TEST(Map, ThePageNeedsNothingFromAnywhereAndTextOfTheStoreStaysText) {
  MapCollector collector(10);
  collector.add(row(0, 7, "</script><script>alert(1)</script>", "", ExplainRow::Check::holds));
  const std::string page = cli::map_page(collector.finish({}));
  EXPECT_THAT(page, Not(HasSubstr("alert(1)</script>")));
  EXPECT_THAT(page, HasSubstr("\\u003c/script>\\u003cscript>alert(1)"));
  for (const char* outside : {"http://", "https://", "src=", "@import", "url("}) {
    EXPECT_THAT(page, Not(HasSubstr(outside)));
  }
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme: dark"));
}

TEST(Map, PrintsAPictureAndWritesThePageOnce) {
  const ScratchDirectory scratch;
  const std::string store = (scratch / "hurt").string();
  const std::string page = (scratch / "map.html").string();
  write_file(store, "LINES 1\n10 one\n!!\n30 three\n");
  const RunResult text = run_fake({"map", store});
  EXPECT_EQ(text.exit_code, 2);
  EXPECT_THAT(text.out, HasSubstr("damaged"));
  EXPECT_THAT(text.out, HasSubstr("hurt"));
  EXPECT_EQ(run_fake({"map", "--html", page, store}).exit_code, 2);
  EXPECT_THAT(read_file(page), HasSubstr("varve.map/1"));
  EXPECT_EQ(run_fake({"map", "--html", page, store}).exit_code, 73);
  EXPECT_EQ(run_fake({"map", "--force", "--html", page, store}).exit_code, 2);
}

}  // namespace
}  // namespace varve::test
