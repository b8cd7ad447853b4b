// SPDX-License-Identifier: MIT OR Apache-2.0
#include "query/sql.hpp"

#include <utility>

#include "query/sql_connection.hpp"

namespace varve::query {

namespace {

SqlValue value_of(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
      return std::int64_t{sqlite3_column_int64(statement, column)};
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, column);
    case SQLITE_TEXT: {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
      return std::string_view(text,
                              static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
    }
    case SQLITE_BLOB: {
      const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement, column));
      return SqlBlob{{bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement, column))}};
    }
    default:
      return std::monostate{};
  }
}

Result<void> push_rows(SqlConnection& connection, sqlite3_stmt* statement, SqlSink& sink) {
  const int columns = sqlite3_column_count(statement);
  std::vector<std::string> names;
  for (int i = 0; i < columns; ++i) {
    names.emplace_back(sqlite3_column_name(statement, i));
  }
  std::vector<SqlValue> values(static_cast<std::size_t>(columns));
  for (bool first = true;; first = false) {
    VARVE_ASSIGN(const bool there, connection.step(statement));
    if (first) {  // not where the statement fails at once
      VARVE_TRY(sink.columns(names));
    }
    if (!there) {
      return {};
    }
    for (int i = 0; i < columns; ++i) {
      values[static_cast<std::size_t>(i)] = value_of(statement, i);
    }
    VARVE_ASSIGN(const bool more, sink.row(values));
    if (!more) {
      return {};
    }
  }
}

Json pushed_json(const Predicate& predicate) {
  Json out = Json::object();
  const auto set = [&](const char* name, const auto& value) {
    if (value) {
      out.set(name, *value);
    }
  };
  set("seq_first", predicate.seq_first);
  set("seq_last", predicate.seq_last);
  set("since", predicate.since_us);
  set("until", predicate.until_us);
  for (std::size_t i = 0; i < predicate.terms.size();) {
    Json values = Json::array();
    const std::string& name = predicate.terms[i].name;
    for (; i < predicate.terms.size() && predicate.terms[i].name == name; ++i) {
      values.push(predicate.terms[i].value);
    }
    out.set(name, std::move(values));
  }
  return out;
}

Json scan_json(const PlannedScan& scan) {
  Json columns = Json::array();
  for (const std::string& name : scan.columns) {
    columns.push(name);
  }
  return Json::object()
      .set("table", to_text(scan.table))
      .set("columns", std::move(columns))
      .set("empty", scan.empty)
      .set("pushed_down", pushed_json(scan.predicate))
      .set("plan", scan.plan);
}

// SQLite's own plan, a line a step.
Result<Json> steps_json(SqlConnection& connection, std::string_view statement) {
  VARVE_ASSIGN(const Statement explained,
               connection.prepare("explain query plan " + std::string(statement)));
  Json steps = Json::array();
  for (;;) {
    VARVE_ASSIGN(const bool there, connection.step(explained.get()));
    if (!there) {
      return steps;
    }
    const SqlValue detail = value_of(explained.get(), 3);
    steps.push(std::string(std::get<std::string_view>(detail)));
  }
}

// A statement that does nothing with rows but count them, over tables that count.
struct Counting {
  std::unique_ptr<SqlConnection> connection;
  Statement statement;  // of the connection
};

// nullopt if the statement does more.
Result<std::optional<Counting>> prepare_counting(StoreTables& tables, SqlObserver& observer,
                                                 std::string_view statement) {
  observer.count_rows();
  VARVE_ASSIGN(auto connection, SqlConnection::open(tables, observer));
  auto prepared = connection->prepare(statement);
  if (!prepared || !connection->only_counts(statement)) {
    return std::nullopt;
  }
  return Counting{std::move(connection), *std::move(prepared)};
}

// The verdict of a statement that only counts; nullopt if it does more, or has to be run without.
// No row has reached the sink then.
Result<std::optional<Verdict>> run_counting(StoreTables& tables, std::string_view statement,
                                            FindingSink& findings, SqlSink& sink) {
  // Findings are told when it is certain that this run is the one; more than anybody reads are not.
  FindingList held(100'000);
  SqlObserver observer(held, nullptr);
  VARVE_ASSIGN(const auto counting, prepare_counting(tables, observer, statement));
  if (!counting) {
    return std::nullopt;
  }
  const auto pushed = push_rows(*counting->connection, counting->statement.get(), sink);
  if (observer.counted_too_many()) {
    return std::nullopt;
  }
  for (Finding& finding : held.findings()) {
    findings.add(std::move(finding));
  }
  VARVE_TRY(pushed);
  return observer.verdict();
}

}  // namespace

Result<Verdict> run_sql(StoreTables& tables, std::string_view statement, FindingSink& findings,
                        SqlSink& sink) {
  VARVE_ASSIGN(const auto counted, run_counting(tables, statement, findings, sink));
  if (counted) {
    return *counted;
  }
  SqlObserver observer(findings, nullptr);
  VARVE_ASSIGN(const auto connection, SqlConnection::open(tables, observer));
  VARVE_ASSIGN(const Statement prepared, connection->prepare(statement));
  VARVE_TRY(push_rows(*connection, prepared.get(), sink));
  return observer.verdict();
}

Result<Json> plan_sql(StoreTables& tables, std::string_view statement) {
  FindingList ignored(0);
  std::vector<PlannedScan> scans;
  SqlObserver observer(ignored, &scans);
  VARVE_ASSIGN(const auto connection, SqlConnection::open(tables, observer));
  VARVE_ASSIGN(const Statement prepared, connection->prepare(statement));
  for (;;) {
    VARVE_ASSIGN(const bool there, connection->step(prepared.get()));
    if (!there) {
      break;
    }
  }
  SqlObserver counter(ignored, nullptr);
  VARVE_ASSIGN(const auto counting, prepare_counting(tables, counter, statement));
  Json scanned = Json::array();
  for (const PlannedScan& scan : scans) {
    scanned.push(scan_json(scan));
  }
  VARVE_ASSIGN(Json steps, steps_json(*connection, statement));
  return Json::object()
      .set("schema", "varve.sql-plan/1")
      .set("format", tables.source().format->name())
      .set("path", tables.source().path)
      .set("counted_by_decoders", counting.has_value())
      .set("scans", std::move(scanned))
      .set("steps", std::move(steps));
}

}  // namespace varve::query
