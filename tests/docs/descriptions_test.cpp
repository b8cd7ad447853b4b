// SPDX-License-Identifier: MIT OR Apache-2.0
// The descriptions in docs/formats say what the field tables say. With VARVE_WRITE_DESCRIPTIONS set
// the test writes the regions anew instead of comparing them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "field_tables.hpp"
#include "tests/support.hpp"

namespace varve::test {
namespace {

class Description : public ::testing::TestWithParam<std::tuple<FormatTable, std::string>> {};

TEST_P(Description, SaysWhatTheFieldTablesSay) {
  const auto& [table, notation] = GetParam();
  const fs::path path =
      fs::path(VARVE_TEST_SOURCE_DIR) / "docs/formats" / (table.format + "." + notation);
  const std::string text = read_file(path);
  std::vector<std::string> met;
  const std::string filled = filled_in(text, notation, table, met);
  if (std::getenv("VARVE_WRITE_DESCRIPTIONS") != nullptr) {
    write_file(path, filled);
  } else {
    EXPECT_EQ(text, filled) << "run scripts/describe";
  }
  // No unit is left out, none is told twice.
  std::vector<std::string> units;
  for (const auto& [unit, fields] : table.units) {
    units.push_back(unit);
  }
  std::ranges::sort(met);
  EXPECT_EQ(met, units);
}

INSTANTIATE_TEST_SUITE_P(Docs, Description,
                         ::testing::Combine(::testing::ValuesIn(field_tables()),
                                            ::testing::Values("ksy", "hexpat", "md")),
                         [](const auto& param) {
                           return std::get<0>(param.param).format + "_" + std::get<1>(param.param);
                         });

TEST(FieldTables, LeaveNoByteOut) {
  for (const FormatTable& table : field_tables()) {
    for (const auto& [unit, fields] : table.units) {
      SCOPED_TRACE(table.format + " " + unit);
      std::uint64_t position = 0;
      for (const Field& field : fields) {
        EXPECT_EQ(field.offset, position) << field.name;
        const bool size_fits = field.kind == Field::Kind::bytes || field.length == 1 ||
                               field.length == 2 || field.length == 4 || field.length == 8;
        EXPECT_TRUE(size_fits) << field.name;
        position = field.offset + field.length;
      }
      // Only the last field may go on to the unit's end.
      for (std::size_t i = 0; i + 1 < fields.size(); ++i) {
        EXPECT_NE(fields[i].length, 0U) << fields[i].name;
      }
    }
  }
}

TEST(FieldTables, RegionsThatDifferAreSeen) {
  const FormatTable table{"toy", {{"unit", {{"size", 0, 4, Field::Kind::number, "bytes"}}}}};
  std::vector<std::string> met;
  const std::string old = "a\n  # fields of unit\n  - id: other\n  # end of unit\nb\n";
  EXPECT_EQ(filled_in(old, "ksy", table, met),
            "a\n  # fields of unit\n  - id: size\n    type: u4\n    doc: \"bytes\"\n"
            "  # end of unit\nb\n");
  EXPECT_EQ(met, std::vector<std::string>{"unit"});
  EXPECT_THROW(filled_in("# fields of nothing\n", "ksy", table, met), std::invalid_argument);
  EXPECT_THROW(filled_in("# fields of unit\n", "ksy", table, met), std::invalid_argument);
}

}  // namespace
}  // namespace varve::test
