// SPDX-License-Identifier: MIT OR Apache-2.0
// A table and its cursors, as the module's callbacks see them.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "query/row_counts.hpp"
#include "query/sqlite_module.hpp"

namespace varve::query {

// The module's callbacks but those that make a table: xCreate, xConnect.
sqlite3_module table_callbacks();
// Tells SQLite the columns. Gives its result code; *error gets a text of its own allocator.
int declare_table(sqlite3* connection, const TableShape& shape, char** error);

class Table : public sqlite3_vtab {
 public:
  Table(StoreTables& tables, TableObserver& observer, TableKind kind)
      : sqlite3_vtab{}, tables_(tables), observer_(observer), kind_(kind) {}
  virtual ~Table() = default;

  StoreTables& tables() { return tables_; }
  TableObserver& observer() { return observer_; }
  TableKind kind() const { return kind_; }
  const TableShape& shape() const { return tables_.shape(kind_); }
  // Keeps the text for SQLite, which prints it; gives SQLITE_ERROR.
  int fail(const Error& error);

 private:
  StoreTables& tables_;
  TableObserver& observer_;
  TableKind kind_;
};

class Cursor : public sqlite3_vtab_cursor {
 public:
  explicit Cursor(Table& table) : sqlite3_vtab_cursor{}, table_(table) {}

  int filter(const char* plan, sqlite3_value** values);
  int next();
  bool at_end() const { return at_end_; }
  int column(sqlite3_context* context, std::size_t at) const;
  sqlite3_int64 row_id() const { return row_id_; }

 private:
  int fetch();
  int fetch_counts(std::optional<std::size_t> column, TableRequest request);
  int fail(const Error& error);
  int note(const TableRequest& request, bool empty);
  void split_lines();

  Table& table_;
  std::unique_ptr<TableStream> stream_;
  bool lines_wanted_ = false;
  Batch batch_;
  std::vector<std::string_view> lines_;  // of the batch
  std::size_t row_ = 0;                  // in the batch
  sqlite3_int64 row_id_ = 0;             // from 1, in the order of the scan
  bool at_end_ = true;
  // In place of rows, if the connection counts.
  RowCounts counts_;
  std::map<std::string, std::int64_t, std::less<>>::const_iterator count_;
  bool counting_ = false;
};

}  // namespace varve::query
