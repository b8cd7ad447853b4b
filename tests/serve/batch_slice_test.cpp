// SPDX-License-Identifier: MIT OR Apache-2.0
#include "output/batch_slice.hpp"

#include <gtest/gtest.h>

namespace varve::output {
namespace {

TEST(BatchSlice, HasTheRowsAndTheirNulls) {
  const Schema schema{{{"n", ColumnType::uint32, true},
                       {"text", ColumnType::text, true},
                       {"flag", ColumnType::boolean}}};
  BatchBuilder builder(schema);
  for (std::uint64_t i = 0; i < 40; ++i) {
    if (i % 3 == 0) {
      builder.add_null(0);
      builder.add_null(1);
    } else {
      builder.add_u64(0, i);
      builder.add_bytes(1, std::string(i % 5, 'a' + static_cast<char>(i % 26)));
    }
    builder.add_u64(2, i % 2);
    builder.end_row();
  }
  Batch whole = builder.finish();
  for (const std::size_t first : {0U, 1U, 7U, 8U, 13U}) {
    const Batch slice = slice_batch(whole, first, 20);
    ASSERT_EQ(slice.rows, 20U);
    for (std::size_t row = 0; row < 20; ++row) {
      for (std::size_t column = 0; column < 3; ++column) {
        ASSERT_EQ(slice.columns[column].is_null(row), whole.columns[column].is_null(first + row));
      }
      if (!slice.columns[0].is_null(row)) {
        EXPECT_EQ(slice.columns[0].value<std::uint32_t>(row), first + row);
      }
      EXPECT_EQ(slice.columns[1].bytes(row), whole.columns[1].bytes(first + row));
      EXPECT_EQ(slice.columns[2].value<std::uint8_t>(row), (first + row) % 2);
    }
  }
  const Batch kept = slice_batch(whole, 31, 9);
  whole = {};
  EXPECT_EQ(kept.columns[0].value<std::uint32_t>(1), 32U) << "the slice holds the memory";
}

TEST(BatchSlice, TakesDictionariesAndAbsentColumns) {
  const Schema schema{{{"kind", ColumnType::text, false, true}, {"left out", ColumnType::uint64}}};
  Dictionary dictionary;
  dictionary.add("create");
  dictionary.add("delete");
  const std::uint8_t codes[] = {0, 1, 1, 0};
  Batch batch;
  batch.schema = &schema;
  batch.rows = 4;
  batch.columns.resize(2);
  batch.columns[0].layout = Column::Layout::dictionary8;
  batch.columns[0].values = codes;
  batch.columns[0].dictionary = &dictionary;
  const Batch slice = slice_batch(batch, 2, 2);
  EXPECT_EQ(slice.columns[0].bytes(0), "delete");
  EXPECT_EQ(slice.columns[0].bytes(1), "create");
  EXPECT_EQ(slice.columns[1].layout, Column::Layout::absent);
}

}  // namespace
}  // namespace varve::output
