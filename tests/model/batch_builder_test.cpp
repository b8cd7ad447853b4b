// SPDX-License-Identifier: MIT OR Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "varve/batch.hpp"

namespace varve {
namespace {

Schema schema() {
  Schema out;
  out.fields = {{"flag", ColumnType::boolean, true, false},
                {"small", ColumnType::uint16, false, false},
                {"wide", ColumnType::uint64, false, false},
                {"when", ColumnType::timestamp_us, true, false},
                {"text", ColumnType::text, true, false}};
  return out;
}

TEST(BatchBuilder, GivesBackWhatWasAdded) {
  const Schema of = schema();
  BatchBuilder builder(of);
  for (std::uint64_t row = 0; row < 100; ++row) {
    builder.add_u64(0, row % 2);
    builder.add_u64(1, row * 600);
    builder.add_u64(2, UINT64_MAX - row);
    builder.add_i64(3, -static_cast<std::int64_t>(row));
    builder.add_bytes(4, std::string(row % 5, 'x'));
    builder.end_row();
  }
  EXPECT_EQ(builder.rows(), 100U);
  EXPECT_EQ(builder.data_bytes(), 200U);
  const Batch batch = builder.finish();
  EXPECT_EQ(builder.rows(), 0U);
  ASSERT_EQ(batch.rows, 100U);
  for (std::size_t row = 0; row < 100; ++row) {
    EXPECT_EQ(batch.columns[0].value<std::uint8_t>(row), row % 2);
    EXPECT_EQ(batch.columns[1].value<std::uint16_t>(row), row * 600);
    EXPECT_EQ(batch.columns[2].value<std::uint64_t>(row), UINT64_MAX - row);
    EXPECT_EQ(batch.columns[3].value<std::int64_t>(row), -static_cast<std::int64_t>(row));
    EXPECT_EQ(batch.columns[4].bytes(row), std::string(row % 5, 'x'));
    EXPECT_FALSE(batch.columns[4].is_null(row));
  }
}

TEST(BatchBuilder, WhatARowDoesNotSayIsNull) {
  const Schema of = schema();
  BatchBuilder builder(of);
  builder.add_u64(2, 7);
  builder.end_row();
  builder.add_bytes(4, "");
  builder.add_null(0);
  builder.end_row();
  const Batch batch = builder.finish();
  EXPECT_TRUE(batch.columns[0].is_null(0));
  EXPECT_TRUE(batch.columns[0].is_null(1));
  EXPECT_FALSE(batch.columns[2].is_null(0));
  EXPECT_TRUE(batch.columns[2].is_null(1));
  EXPECT_TRUE(batch.columns[4].is_null(0));
  EXPECT_FALSE(batch.columns[4].is_null(1));
  EXPECT_EQ(batch.columns[4].bytes(0), "");
}

TEST(BatchBuilder, ABatchOutlivesItsBuilder) {
  const Schema of = schema();
  Batch batch;
  {
    BatchBuilder builder(of);
    builder.add_bytes(4, "stays");
    builder.end_row();
    batch = builder.finish();
    builder.add_bytes(4, "other");
    builder.end_row();
  }
  EXPECT_EQ(batch.columns[4].bytes(0), "stays");
}

TEST(BatchBuilder, AnEmptyBatchIsFine) {
  const Schema of = schema();
  BatchBuilder builder(of);
  const Batch batch = builder.finish();
  EXPECT_EQ(batch.rows, 0U);
  EXPECT_EQ(batch.columns.size(), of.fields.size());
}

// A value of 4 GiB cannot be made in a test; its length alone is judged before anything is copied.
TEST(BatchBuilder, AValueBeyondTheOffsetsBecomesNull) {
  const Schema of = schema();
  BatchBuilder builder(of);
  const char one = 'x';
  builder.add_bytes(4, std::string_view(&one, 1));
  builder.end_row();
  builder.add_bytes(4, std::string_view(&one, UINT32_MAX));
  builder.end_row();
  builder.add_bytes(4, std::string_view(&one, 1));
  builder.end_row();
  const Batch batch = builder.finish();
  EXPECT_TRUE(batch.columns[4].is_null(1));
  EXPECT_EQ(batch.columns[4].bytes(0), "x");
  EXPECT_EQ(batch.columns[4].bytes(2), "x");
}

}  // namespace
}  // namespace varve
