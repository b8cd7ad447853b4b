// SPDX-License-Identifier: MIT OR Apache-2.0
#include "query/sql_connection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "query/row_counts.hpp"
#include "store/sql_names.hpp"

namespace varve::query {

namespace {

// A store with more findings than this has them told again where a join scans it again.
constexpr std::size_t k_most_told = 100'000;

std::unexpected<Error> refuse(std::string message) {
  return fail(ErrorCode::invalid_argument, "sql", "sql: " + std::move(message));
}

// Refuses what touches files or settings while it is prepared, or counts as reading although it
// does. That the statement reads and no more is asked before it runs.
int authorize(void*, int action, const char* first, const char* second, const char*, const char*) {
  constexpr std::array k_pragmas{"table_info", "table_xinfo", "table_list", "function_list"};
  switch (action) {
    case SQLITE_ATTACH:
    case SQLITE_DETACH:
      return SQLITE_DENY;
    case SQLITE_FUNCTION:
      return second != nullptr && sqlite3_stricmp(second, "load_extension") == 0 ? SQLITE_DENY
                                                                                 : SQLITE_OK;
    case SQLITE_PRAGMA:
      return std::ranges::any_of(
                 k_pragmas, [&](const char* name) { return sqlite3_stricmp(first, name) == 0; })
                 ? SQLITE_OK
                 : SQLITE_DENY;
    default:
      return SQLITE_OK;
  }
}

}  // namespace

Result<void> SqlObserver::found(TableKind, Finding finding) {
  if (finding.severity == Severity::error) {
    verdict_ = worse(verdict_, finding.verdict);
  }
  std::string key =
      fmt::format("{}\n{}\n{}\n{}", finding.file, finding.offset, finding.code, finding.message);
  if (told_.size() >= k_most_told || told_.insert(std::move(key)).second) {
    findings_.add(std::move(finding));
  }
  return {};
}

Result<std::unique_ptr<SqlConnection>> SqlConnection::open(StoreTables& tables,
                                                           SqlObserver& observer) {
  std::unique_ptr<SqlConnection> out(new SqlConnection(observer));
  int rc =
      sqlite3_open_v2(":memory:", &out->connection_,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  if (rc == SQLITE_OK) {
    rc = add_tables(out->connection_, tables, observer);
  }
  if (rc == SQLITE_OK && observer.counting()) {
    rc = add_weighted_count(out->connection_, observer.row_weight());
  }
  if (rc != SQLITE_OK) {
    return out->error(rc);
  }
  for (const model::NamedQuery& view : store::sql_names(*tables.source().format).queries) {
    VARVE_TRY(out->execute(fmt::format("create temp view \"{}\" as {}", view.name, view.sql)));
  }
  // A text in double quotes that names nothing is a mistake, not a text.
  sqlite3_db_config(out->connection_, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
  sqlite3_db_config(out->connection_, SQLITE_DBCONFIG_DQS_DDL, 0, nullptr);
  sqlite3_db_config(out->connection_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_limit(out->connection_, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_set_authorizer(out->connection_, authorize, nullptr);
  return out;
}

SqlConnection::~SqlConnection() { sqlite3_close_v2(connection_); }

Result<void> SqlConnection::execute(const std::string& text) {
  const int rc = sqlite3_exec(connection_, text.c_str(), nullptr, nullptr, nullptr);
  return rc == SQLITE_OK ? Result<void>() : error(rc);
}

// What a scan failed with is the better story than SQLite's.
std::unexpected<Error> SqlConnection::error(int code) const {
  if (observer_.error()) {
    return std::unexpected(*observer_.error());
  }
  const std::string text = sqlite3_errmsg(connection_);
  switch (code & 0xFF) {
    case SQLITE_NOMEM:
    case SQLITE_IOERR:
    case SQLITE_FULL:
    case SQLITE_CANTOPEN:
      return fail(ErrorCode::io, "sqlite", text);
    default:
      return refuse(text);
  }
}

Result<Statement> SqlConnection::prepare(std::string_view text) {
  sqlite3_stmt* raw = nullptr;
  const char* tail = nullptr;
  if (text.size() > 1'000'000) {
    return refuse("the statement is longer than 1,000,000 bytes");
  }
  if (text.find('\0') != std::string_view::npos) {
    return refuse("the statement has a zero byte");
  }
  const int rc =
      sqlite3_prepare_v2(connection_, text.data(), static_cast<int>(text.size()), &raw, &tail);
  Statement statement(raw);
  if (rc != SQLITE_OK) {
    return error(rc);
  }
  if (!statement) {
    return refuse("there is no statement");
  }
  const auto rest = static_cast<int>(text.data() + text.size() - tail);
  sqlite3_stmt* second = nullptr;
  const int second_rc = sqlite3_prepare_v2(connection_, tail, rest, &second, nullptr);
  const Statement more(second);
  if (second_rc != SQLITE_OK || more) {
    return refuse("one statement at a time");
  }
  if (sqlite3_stmt_readonly(raw) == 0 || sqlite3_column_count(raw) == 0) {
    return refuse("only a statement that reads has a meaning here");
  }
  if (sqlite3_bind_parameter_count(raw) != 0) {
    return refuse("parameters have no values here");
  }
  return statement;
}

bool SqlConnection::only_counts(std::string_view statement) const {
  return query::only_counts(connection_, statement);
}

Result<bool> SqlConnection::step(sqlite3_stmt* statement) {
  const int rc = sqlite3_step(statement);
  if (rc == SQLITE_ROW || rc == SQLITE_DONE) {
    return rc == SQLITE_ROW;
  }
  return error(rc);
}

}  // namespace varve::query
