// SPDX-License-Identifier: MIT OR Apache-2.0
// Counting rows batch by batch where a statement wants nothing of them but how many there are, in
// all or for each value of one column: `select collection, count(*) from log group by 1`. The
// threads that decode count too, and SQLite sees a row a value instead of a row a record.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "query/constraint.hpp"
#include "query/sqlite_api.hpp"
#include "query/store_tables.hpp"

namespace varve::query {

// Counts the values of a column of a batch (or its rows) into Batch::mapped, in place of the rows.
class CountMapper final : public BatchMapper {
 public:
  // `column` is of the schema, of type text; nullopt counts rows.
  explicit CountMapper(std::optional<std::size_t> column) : column_(column) {}
  void map(Batch& batch) const override;

 private:
  std::optional<std::size_t> column_;
};

// What is counted, over all batches.
class RowCounts {
 public:
  // Takes what a CountMapper made of a batch. False if there are more values than are to be held,
  // or one that SQLite would not order as its bytes: count row by row then.
  bool add(const Batch& batch);
  // Ascending, as SQLite orders texts.
  const std::map<std::string, std::int64_t, std::less<>>& all() const { return counts_; }

 private:
  std::map<std::string, std::int64_t, std::less<>> counts_;
  std::size_t bytes_ = 0;
};

// The column whose values are to be told apart, if the plan can be counted: no column is used, or
// one of type text and no other. The outer optional says whether it can.
std::optional<std::optional<std::size_t>> counted_column(const TableShape& shape,
                                                         sqlite3_uint64 columns_used);

// Whether the program of a statement, in a connection whose tables count, does nothing with the
// rows of its one table but count them.
bool only_counts(sqlite3* connection, std::string_view statement);

// Puts a `count(*)` into the connection that adds *weight for each row.
int add_weighted_count(sqlite3* connection, const std::int64_t* weight);

}  // namespace varve::query
