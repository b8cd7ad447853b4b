// SPDX-License-Identifier: MIT OR Apache-2.0
#include "query/sqlite_module.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/in_quotes.hpp"
#include "model/column_types.hpp"
#include "query/table_cursor.hpp"

namespace varve::query {

namespace {

// How many rows a table is taken to have, for the planner alone: what matters is that a filter that
// is pushed down makes a scan cheaper, and that starting a scan is dear.
constexpr double k_rows = 1e6;
constexpr double k_start_cost = 1e4;

// What a connection's tables of one store share.
struct Host {
  StoreTables& tables;
  TableObserver& observer;
  TableKind kind;
};

std::string declaration(const TableShape& shape) {
  std::string out = "CREATE TABLE x(";
  for (const TableColumn& column : shape.columns) {
    out += out.ends_with('(') ? "" : ",";
    out += base::in_quotes(column.name) + " " + model::sqlite_type(column.type) +
           (column.hidden ? " HIDDEN" : "");
  }
  return out + ")";
}

int connect(sqlite3* connection, void* host, int, const char* const*, sqlite3_vtab** out,
            char** error) {
  const auto& given = *static_cast<const Host*>(host);
  const int rc = declare_table(connection, given.tables.shape(given.kind), error);
  if (rc != SQLITE_OK) {
    return rc;
  }
  *out = new (std::nothrow) Table(given.tables, given.observer, given.kind);
  return *out == nullptr ? SQLITE_NOMEM : SQLITE_OK;
}

int disconnect(sqlite3_vtab* table) {
  delete static_cast<Table*>(table);
  return SQLITE_OK;
}

// The operator that a condition can be pushed down as on that column.
std::optional<Operator> operator_of(const TableColumn& column, int op) {
  if (column.pushdown == Pushdown::nothing) {
    return std::nullopt;
  }
  const bool text = column.type == ColumnType::text;
  switch (op) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
      return Operator::equal;
    case SQLITE_INDEX_CONSTRAINT_GLOB:
      return text && column.takes_prefix ? std::optional(Operator::glob) : std::nullopt;
    case SQLITE_INDEX_CONSTRAINT_GT:
      return text ? std::nullopt : std::optional(Operator::above);
    case SQLITE_INDEX_CONSTRAINT_GE:
      return text ? std::nullopt : std::optional(Operator::at_least);
    case SQLITE_INDEX_CONSTRAINT_LT:
      return text ? std::nullopt : std::optional(Operator::below);
    case SQLITE_INDEX_CONSTRAINT_LE:
      return text ? std::nullopt : std::optional(Operator::at_most);
    default:
      return std::nullopt;
  }
}

// Whether the condition compares bytes: another collation makes more texts equal.
bool is_binary(sqlite3_index_info* info, int at) {
  const char* collation = sqlite3_vtab_collation(info, at);
  return collation == nullptr || sqlite3_stricmp(collation, "BINARY") == 0;
}

// True if the condition is an IN whose values come all at once.
bool takes_list(sqlite3_index_info* info, int at) {
#if SQLITE_VERSION_NUMBER >= 3038000
  return sqlite3_libversion_number() >= 3038000 && sqlite3_vtab_in(info, at, 1) != 0;
#else
  (void)info, (void)at;
  return false;
#endif
}

double share_of(Operator op, const TableColumn& column) {
  if (op == Operator::equal || op == Operator::one_of) {
    return column.pushdown == Pushdown::seq ? 1e-5 : 0.02;
  }
  return 0.3;
}

// A table that counts gives its values in order, which makes a GROUP BY of them one pass.
bool orders_groups(Table& table, sqlite3_index_info* info) {
#if SQLITE_VERSION_NUMBER >= 3038000
  if (table.observer().row_weight() == nullptr || info->nOrderBy != 1 ||
      info->aOrderBy[0].desc != 0 || sqlite3_vtab_distinct(info) != 1) {
    return false;
  }
  const auto counted = counted_column(table.shape(), info->colUsed);
  return counted && *counted && static_cast<int>(**counted) == info->aOrderBy[0].iColumn;
#else
  (void)table, (void)info;
  return false;
#endif
}

int best_index(sqlite3_vtab* vtab, sqlite3_index_info* info) {
  const TableShape& shape = static_cast<Table*>(vtab)->shape();
  ScanPlan plan;
  plan.columns_used = info->colUsed;
  double share = 1;
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& constraint = info->aConstraint[i];
    if (constraint.iColumn < 0) {
      continue;
    }
    const auto at = static_cast<std::size_t>(constraint.iColumn);
    const TableColumn& column = shape.columns[at];
    auto op = operator_of(column, constraint.op);
    if (constraint.usable == 0) {
      if (column.is_argument && op == Operator::equal) {
        return SQLITE_CONSTRAINT;  // an argument must be there before the scan begins
      }
      continue;
    }
    if (!op || (column.type == ColumnType::text && !is_binary(info, i))) {
      continue;
    }
    if (op == Operator::equal && column.pushdown == Pushdown::filter && takes_list(info, i)) {
      op = Operator::one_of;
    }
    plan.constraints.push_back({at, *op});
    info->aConstraintUsage[i].argvIndex = static_cast<int>(plan.constraints.size());
    info->aConstraintUsage[i].omit = column.is_argument ? 1 : 0;
    share *= share_of(*op, column);
  }
  info->orderByConsumed = orders_groups(*static_cast<Table*>(vtab), info) ? 1 : 0;
  info->estimatedCost = k_start_cost + k_rows * share;
  info->estimatedRows = static_cast<sqlite3_int64>(std::max(1.0, k_rows * share));
  info->idxStr = sqlite3_mprintf("%s", plan.text().c_str());
  info->needToFreeIdxStr = 1;
  return info->idxStr == nullptr ? SQLITE_NOMEM : SQLITE_OK;
}

int open_cursor(sqlite3_vtab* vtab, sqlite3_vtab_cursor** out) {
  *out = new (std::nothrow) Cursor(*static_cast<Table*>(vtab));
  return *out == nullptr ? SQLITE_NOMEM : SQLITE_OK;
}
int close_cursor(sqlite3_vtab_cursor* cursor) {
  delete static_cast<Cursor*>(cursor);
  return SQLITE_OK;
}
int filter(sqlite3_vtab_cursor* cursor, int, const char* plan, int, sqlite3_value** values) {
  return static_cast<Cursor*>(cursor)->filter(plan, values);
}
int next(sqlite3_vtab_cursor* cursor) { return static_cast<Cursor*>(cursor)->next(); }
int at_end(sqlite3_vtab_cursor* cursor) { return static_cast<Cursor*>(cursor)->at_end() ? 1 : 0; }
int column(sqlite3_vtab_cursor* cursor, sqlite3_context* context, int at) {
  return static_cast<Cursor*>(cursor)->column(context, static_cast<std::size_t>(at));
}
int row_id(sqlite3_vtab_cursor* cursor, sqlite3_int64* out) {
  *out = static_cast<Cursor*>(cursor)->row_id();
  return SQLITE_OK;
}

}  // namespace

sqlite3_module table_callbacks() {
  sqlite3_module module{};
  module.iVersion = 1;
  module.xBestIndex = best_index;
  module.xDisconnect = disconnect;
  module.xDestroy = disconnect;
  module.xOpen = open_cursor;
  module.xClose = close_cursor;
  module.xFilter = filter;
  module.xNext = next;
  module.xEof = at_end;
  module.xColumn = column;
  module.xRowid = row_id;
  return module;
}

int declare_table(sqlite3* connection, const TableShape& shape, char** error) {
  const int rc = sqlite3_declare_vtab(connection, declaration(shape).c_str());
  if (rc != SQLITE_OK) {
    *error = sqlite3_mprintf("%s", sqlite3_errmsg(connection));
  }
  return rc;
}

int add_tables(sqlite3* connection, StoreTables& tables, TableObserver& observer) {
  static const sqlite3_module module = [] {
    sqlite3_module callbacks = table_callbacks();
    callbacks.xConnect = connect;  // without xCreate: the table is there under the module's name
    return callbacks;
  }();
  for (const TableKind kind : k_table_kinds) {
    const int rc = sqlite3_create_module_v2(connection, std::string(to_text(kind)).c_str(), &module,
                                            new Host{tables, observer, kind},
                                            [](void* host) { delete static_cast<Host*>(host); });
    if (rc != SQLITE_OK) {
      return rc;
    }
  }
  return SQLITE_OK;
}

}  // namespace varve::query
