// SPDX-License-Identifier: MIT OR Apache-2.0
// The loadable extension: `create virtual table NAME using varve('PATH', 'TABLE')`.
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1

#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "query/table_cursor.hpp"
#include "store/open.hpp"

namespace varve::query {

namespace {

// What stands in the brackets of `using varve(...)`.
struct Arguments {
  std::string path;
  TableKind table = TableKind::log;
  bool skip_damage = false;
};

// An argument as SQLite hands it over: its text, often with quotes around it.
std::string unquoted(std::string_view text) {
  if (text.size() < 2 || (text.front() != '\'' && text.front() != '"') ||
      text.front() != text.back()) {
    return std::string(text);
  }
  const char quote = text.front();
  std::string out;
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    out += text[i];
    if (text[i] == quote && text[i + 1] == quote) {
      ++i;
    }
  }
  return out;
}

std::unexpected<Error> refuse(std::string message) {
  return fail(ErrorCode::invalid_argument, "arguments", std::move(message));
}

// The first three are the module, the database and the table being made.
Result<Arguments> read_arguments(int count, const char* const* texts) {
  Arguments out;
  if (count < 4 || count > 6) {
    return refuse(
        "wanted: using varve('PATH' [, 'log'|'state'|'units'|'segments'|'findings' "
        "[, 'skip damage']])");
  }
  out.path = unquoted(texts[3]);
  if (count > 4) {
    const std::string name = unquoted(texts[4]);
    const auto table = table_of_name(name);
    if (!table) {
      return refuse("no table '" + name + "': log, state, units, segments or findings");
    }
    out.table = *table;
  }
  if (count > 5) {
    if (unquoted(texts[5]) != "skip damage") {
      return refuse("the third argument can only be 'skip damage'");
    }
    out.skip_damage = true;
  }
  return out;
}

// Nobody reads the host's stderr: damage ends the query, unless the table was made to skip it. A
// torn tail is what every store has while it is written, and only logged.
class Observer final : public TableObserver {
 public:
  explicit Observer(bool skip_damage) : skip_damage_(skip_damage) {}
  Result<void> found(TableKind, Finding finding) override {
    if (finding.severity != Severity::error) {
      return {};
    }
    Error error = to_error(finding);
    if (finding.verdict == Verdict::torn || skip_damage_) {
      sqlite3_log(SQLITE_WARNING, "varve: %s", error.text().c_str());
      return {};
    }
    error.message += " (make the table with a third argument 'skip damage' to read what is whole)";
    return std::unexpected(std::move(error));
  }
  void ended(Verdict) override {}
  void failed(const Error&) override {}

 private:
  bool skip_damage_;
};

// What a table of its own owns; the base before the table that refers to it.
struct Owned {
  std::unique_ptr<StoreTables> tables;
  Observer observer;
};
class OpenedTable final : private Owned, public Table {
 public:
  OpenedTable(std::unique_ptr<StoreTables> opened, const Arguments& arguments)
      : Owned{std::move(opened), Observer(arguments.skip_damage)},
        Table(*Owned::tables, Owned::observer, arguments.table) {}
};

Result<std::unique_ptr<StoreTables>> open_tables(const std::string& path) {
  VARVE_ASSIGN(const store::Located located,
               store::locate(formats(), io::posix_file_system(), path));
  StoreSource source;
  source.format = located.format;
  source.files = &io::posix_file_system();
  source.path = located.path;
  return StoreTables::open(std::move(source));
}

int connect(sqlite3* connection, void*, int count, const char* const* texts, sqlite3_vtab** out,
            char** error) {
  // Not from the triggers and views of a database that somebody else has made.
  sqlite3_vtab_config(connection, SQLITE_VTAB_DIRECTONLY);
  const auto refused = [&](const Error& why) {
    *error = sqlite3_mprintf("varve: %s", why.text().c_str());
    return SQLITE_ERROR;
  };
  try {
    const auto arguments = read_arguments(count, texts);
    if (!arguments) {
      return refused(arguments.error());
    }
    auto tables = open_tables(arguments->path);
    if (!tables) {
      return refused(tables.error());
    }
    const int rc = declare_table(connection, (*tables)->shape(arguments->table), error);
    if (rc != SQLITE_OK) {
      return rc;
    }
    *out = new OpenedTable(*std::move(tables), *arguments);
    return SQLITE_OK;
  } catch (const std::exception& e) {
    *error = sqlite3_mprintf("varve: %s", e.what());
    return SQLITE_NOMEM;
  }
}

}  // namespace

}  // namespace varve::query

extern "C" __attribute__((visibility("default"))) int sqlite3_varvesqlite_init(
    sqlite3* connection, char**, const sqlite3_api_routines* api) {
  SQLITE_EXTENSION_INIT2(api);
  static const sqlite3_module module = [] {
    sqlite3_module callbacks = varve::query::table_callbacks();
    callbacks.xCreate = varve::query::connect;
    callbacks.xConnect = varve::query::connect;
    return callbacks;
  }();
  return sqlite3_create_module_v2(connection, "varve", &module, nullptr, nullptr);
}
