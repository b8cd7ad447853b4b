// SPDX-License-Identifier: MIT OR Apache-2.0
// The connection and the statement behind sql.hpp.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "query/sqlite_module.hpp"

namespace varve::query {

// Passes on what scans find, each finding once although a join may scan a table many times.
class SqlObserver final : public TableObserver {
 public:
  // `planned`: where scans are noted instead of being run; may be null.
  SqlObserver(FindingSink& findings, std::vector<PlannedScan>* planned)
      : findings_(findings), planned_(planned) {}
  Result<void> found(TableKind table, Finding finding) override;
  void ended(Verdict verdict) override { verdict_ = worse(verdict_, verdict); }
  void failed(const Error& error) override { error_ = error; }
  std::vector<PlannedScan>* planning() override { return planned_; }
  std::int64_t* row_weight() override { return counting_ ? &weight_ : nullptr; }
  void too_many_values() override { too_many_values_ = true; }

  // From now on tables count (row_counts.hpp).
  void count_rows() { counting_ = true; }
  bool counting() const { return counting_; }
  bool counted_too_many() const { return too_many_values_; }

  Verdict verdict() const { return verdict_; }
  const std::optional<Error>& error() const { return error_; }

 private:
  FindingSink& findings_;
  std::vector<PlannedScan>* planned_;
  std::unordered_set<std::string> told_;
  Verdict verdict_ = Verdict::clean;
  std::optional<Error> error_;
  bool counting_ = false;
  bool too_many_values_ = false;
  std::int64_t weight_ = 1;
};

struct CloseStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, CloseStatement>;

// A database in memory with the tables and views of a store, where nothing can be written,
// attached or loaded.
class SqlConnection {
 public:
  static Result<std::unique_ptr<SqlConnection>> open(StoreTables& tables, SqlObserver& observer);
  ~SqlConnection();
  SqlConnection(const SqlConnection&) = delete;
  SqlConnection& operator=(const SqlConnection&) = delete;

  // The one reading statement that the text is.
  Result<Statement> prepare(std::string_view text);
  // Whether the statement, here, does nothing but count.
  bool only_counts(std::string_view statement) const;
  // True if there is a row; false at the end.
  Result<bool> step(sqlite3_stmt* statement);

 private:
  explicit SqlConnection(SqlObserver& observer) : observer_(observer) {}
  Result<void> execute(const std::string& text);
  std::unexpected<Error> error(int code) const;

  SqlObserver& observer_;
  sqlite3* connection_ = nullptr;
};

}  // namespace varve::query
