// SPDX-License-Identifier: MIT OR Apache-2.0
// One SQL statement over one store, run by SQLite in a database of its own that can be read only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "query/store_tables.hpp"

namespace varve::query {

struct SqlBlob {
  std::string_view bytes;
};
// NULL, INTEGER, REAL, TEXT (UTF-8), BLOB. Texts and blobs are borrowed until the next row.
using SqlValue = std::variant<std::monostate, std::int64_t, double, std::string_view, SqlBlob>;

class SqlSink {
 public:
  virtual ~SqlSink() = default;
  // Called once, before any row: the names as SQLite gives them, which may repeat.
  virtual Result<void> columns(std::span<const std::string> names) = 0;
  // False to stop.
  virtual Result<bool> row(std::span<const SqlValue> values) = 0;
};

// Runs the statement; gives the worst verdict of what its scans read. Findings on the way go to the
// sink, each once. Errors: invalid_argument, reason "sql", for a statement that SQLite refuses or
// that is not one reading statement; what a scan failed with.
Result<Verdict> run_sql(StoreTables& tables, std::string_view statement, FindingSink& findings,
                        SqlSink& sink);

// What the statement would scan, as JSON (schema varve.sql-plan/1): the tables, the columns, what
// is pushed down, and the format's plan. Nothing is scanned; a scan inside a loop over the rows of
// another is only named by SQLite's own plan.
Result<Json> plan_sql(StoreTables& tables, std::string_view statement);

}  // namespace varve::query
