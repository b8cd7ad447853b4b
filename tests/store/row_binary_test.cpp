// SPDX-License-Identifier: MIT OR Apache-2.0
// Rows as ClickHouse takes them, byte by byte, and the statements around them.
#include "output/row_binary.hpp"

#include "output/clickhouse.hpp"
#include "tests/support.hpp"

namespace varve::test {
namespace {

const Schema& sample_schema() {
  static const Schema schema{{{.name = "seq", .type = ColumnType::uint64},
                              {.name = "at", .type = ColumnType::timestamp_us, .nullable = true},
                              {.name = "place.file", .type = ColumnType::text, .nullable = true},
                              {.name = "size", .type = ColumnType::uint16},
                              {.name = "whole", .type = ColumnType::boolean}}};
  return schema;
}

TEST(RowBinary, ValuesStandOneBehindTheOther) {
  BatchBuilder builder(sample_schema());
  builder.add_u64(0, 0x0102030405060708);
  builder.add_i64(1, -2);
  builder.add_bytes(2, std::string(200, 'x'));
  builder.add_u64(3, 0x0A0B);
  builder.add_u64(4, 1);
  builder.end_row();
  builder.add_u64(0, 9);
  builder.add_null(1);
  builder.add_null(2);
  builder.add_u64(3, 0);
  builder.add_u64(4, 0);
  builder.end_row();
  Batch batch = builder.finish();
  output::RowBinaryMapper(sample_schema(), {0, 1, 2, 3, 4}).map(batch);
  using namespace std::string_literals;
  EXPECT_EQ(batch.mapped,
            "\x08\x07\x06\x05\x04\x03\x02\x01"s
            "\0\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF"s
            "\0\xC8\x01"s +
                std::string(200, 'x') +
                "\x0B\x0A\x01"s
                "\x09\0\0\0\0\0\0\0\x01\x01\0\0\0"s);
  output::RowBinaryMapper(sample_schema(), {4, 3}).map(batch);
  EXPECT_EQ(batch.mapped, "\x01\x0B\x0A\0\0\0"s);
}

TEST(RowBinary, TheTableHasTheColumnsAndTheKey) {
  output::ClickHouseTable table{&sample_schema(), "db.t", {0, 1, 2}, {0}};
  const auto sql = output::create_statement(table);
  ASSERT_TRUE(sql) << sql.error().text();
  EXPECT_EQ(*sql,
            "CREATE TABLE IF NOT EXISTS `db`.`t` (`seq` UInt64, `at` Nullable(Int64), "
            "`place_file` Nullable(String)) ENGINE = ReplacingMergeTree() ORDER BY (`seq`)");
  table.key = {1};
  EXPECT_FALSE(output::create_statement(table)) << "a key may not be null";
  for (const char* name : {"", "a b", "`t`", "db.", ".t", "a.b.c", "t;"}) {
    EXPECT_FALSE(output::quoted_clickhouse_name(name)) << name;
  }
}

}  // namespace
}  // namespace varve::test
