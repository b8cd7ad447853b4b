// SPDX-License-Identifier: MIT OR Apache-2.0
// The virtual table module: tables of a store inside a SQLite connection.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "query/constraint.hpp"
#include "query/sqlite_api.hpp"
#include "query/store_tables.hpp"

namespace varve::query {

// One scan that a statement would make, for `--plan`.
struct PlannedScan {
  TableKind table = TableKind::log;
  std::vector<std::string> columns;  // used
  Predicate predicate;               // pushed down
  bool empty = false;                // no row can match
  Json plan;                         // the format's
};

// What the tables of one connection tell their owner. Lives longer than the connection.
class TableObserver {
 public:
  virtual ~TableObserver() = default;
  // Findings on the way of a scan, as they are met. An error ends the query with its text.
  virtual Result<void> found(TableKind table, Finding finding) = 0;
  // The verdict of a scan that came to its end.
  virtual void ended(Verdict verdict) = 0;
  // What a scan failed with; the query fails too.
  virtual void failed(const Error& error) = 0;
  // Not null: scans are not run but noted there, and have no rows.
  virtual std::vector<PlannedScan>* planning() { return nullptr; }
  // Not null: tables give, where they can (row_counts.hpp), a row a value and put there how many
  // rows it stands for. One cursor at a time.
  virtual std::int64_t* row_weight() { return nullptr; }
  // There are more values than a counting table holds: the query fails and must be run without.
  virtual void too_many_values() {}
};

// Adds the tables of a store to a connection, each under its name: log, state, units, segments,
// findings. Gives SQLite's result code. `tables` and `observer` outlive the connection.
int add_tables(sqlite3* connection, StoreTables& tables, TableObserver& observer);

}  // namespace varve::query
