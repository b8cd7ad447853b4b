// SPDX-License-Identifier: MIT OR Apache-2.0
// The conditions of a WHERE clause on their way into the filters of a scan. What is pushed down
// lets more rows through than the condition or just as many, never fewer: SQLite checks each row.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "query/sqlite_api.hpp"
#include "query/store_tables.hpp"

namespace varve::query {

enum class Operator : char {
  equal = '=',
  one_of = 'I',  // IN, all values at once
  above = '>',
  at_least = 'G',
  below = '<',
  at_most = 'L',
  glob = 'P',
};

struct Constraint {
  std::size_t column = 0;
  Operator op = Operator::equal;
};

// What xBestIndex tells xFilter: which columns are used, and what each argument is.
struct ScanPlan {
  sqlite3_uint64 columns_used = 0;  // SQLite's mask: bit 63 stands for all columns from the 64th on
  std::vector<Constraint> constraints;
  std::string text() const;
  static ScanPlan parse(std::string_view text);
};

// The request of a plan with its values; nullopt if no row can fulfil the conditions (NULL, or a
// range that is empty).
std::optional<TableRequest> table_request(const TableShape& shape, const ScanPlan& plan,
                                          sqlite3_value** values);

}  // namespace varve::query
