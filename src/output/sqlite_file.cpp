// SPDX-License-Identifier: MIT OR Apache-2.0
#include "output/sqlite_file.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <limits>
#include <utility>

#include "base/in_quotes.hpp"
#include "base/text_coding.hpp"
#include "model/column_types.hpp"

namespace varve::output {

namespace {

constexpr const char* k_notes_table = "varve_export";

int bind_unsigned(sqlite3_stmt* statement, int at, std::uint64_t value) {
  if (value <= static_cast<std::uint64_t>(std::numeric_limits<sqlite3_int64>::max())) {
    return sqlite3_bind_int64(statement, at, static_cast<sqlite3_int64>(value));
  }
  const std::string digits = std::to_string(value);
  return sqlite3_bind_text(statement, at, digits.data(), static_cast<int>(digits.size()),
                           SQLITE_TRANSIENT);
}

// Texts and blobs are borrowed: the row is inserted before the batch goes.
int bind_bytes(sqlite3_stmt* statement, int at, std::string_view bytes, bool text) {
  const char* data = bytes.data() == nullptr ? "" : bytes.data();
  return text && base::is_utf8(bytes)
             ? sqlite3_bind_text64(statement, at, data, bytes.size(), SQLITE_STATIC, SQLITE_UTF8)
             : sqlite3_bind_blob64(statement, at, data, bytes.size(), SQLITE_STATIC);
}

int bind(sqlite3_stmt* statement, int at, ColumnType type, const Column& column, std::size_t row) {
  if (column.layout == Column::Layout::absent || column.is_null(row)) {
    return sqlite3_bind_null(statement, at);
  }
  switch (type) {
    case ColumnType::boolean:
    case ColumnType::uint8:
      return sqlite3_bind_int(statement, at, column.value<std::uint8_t>(row));
    case ColumnType::uint16:
      return sqlite3_bind_int(statement, at, column.value<std::uint16_t>(row));
    case ColumnType::uint32:
      return sqlite3_bind_int64(statement, at, column.value<std::uint32_t>(row));
    case ColumnType::uint64:
      return bind_unsigned(statement, at, column.value<std::uint64_t>(row));
    case ColumnType::int64:
    case ColumnType::timestamp_us:
      return sqlite3_bind_int64(statement, at, column.value<std::int64_t>(row));
    case ColumnType::text:
      return bind_bytes(statement, at, column.bytes(row), true);
    case ColumnType::bytes:
      return bind_bytes(statement, at, column.bytes(row), false);
  }
  return SQLITE_OK;
}

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

}  // namespace

struct SqliteFile::Impl {
  SqliteFileRequest request;
  sqlite3* connection = nullptr;
  Statement insert;
  Statement note;
  bool in_transaction = false;
  std::map<std::string, std::string> notes;

  ~Impl() { close(); }

  void close() {
    insert.reset();
    note.reset();
    sqlite3_close_v2(std::exchange(connection, nullptr));
  }

  std::unexpected<Error> error() const {
    return fail(ErrorCode::io, "sqlite",
                connection == nullptr ? "out of memory" : sqlite3_errmsg(connection), request.path);
  }
  Result<void> execute(const std::string& text) {
    if (sqlite3_exec(connection, text.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
      return error();
    }
    return {};
  }
  Result<Statement> prepare(const std::string& text) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(connection, text.c_str(), -1, &statement, nullptr) != SQLITE_OK) {
      return error();
    }
    return Statement(statement);
  }
  Result<void> step(sqlite3_stmt* statement) {
    const int rc = sqlite3_step(statement);
    sqlite3_reset(statement);
    return rc == SQLITE_DONE ? Result<void>() : error();
  }

  Result<void> open() {
    if (sqlite3_open_v2(request.path.c_str(), &connection,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr) != SQLITE_OK) {
      return error();
    }
    VARVE_TRY(execute(request.durable ? "pragma journal_mode = delete; pragma synchronous = full;"
                                      : "pragma journal_mode = off; pragma synchronous = off;"));
    VARVE_TRY(execute("pragma cache_size = -65536; pragma temp_store = memory;"));
    std::string names;
    std::string columns;
    std::string values;
    for (const std::size_t at : request.columns) {
      const Field& field = request.schema->fields[at];
      names += fmt::format("{}{}", names.empty() ? "" : ", ", base::in_quotes(field.name));
      columns += fmt::format("{}{} {}", columns.empty() ? "" : ", ", base::in_quotes(field.name),
                             model::sqlite_type(field.type));
      values += values.empty() ? "?" : ", ?";
    }
    VARVE_TRY(
        execute(fmt::format("begin; create table if not exists {} ({});"
                            "create table if not exists {} (name TEXT primary key, value "
                            "TEXT) without rowid; commit;",
                            base::in_quotes(request.table), columns, k_notes_table)));
    VARVE_ASSIGN(insert, prepare(fmt::format("insert into {} ({}) values ({})",
                                             base::in_quotes(request.table), names, values)));
    VARVE_ASSIGN(note,
                 prepare(fmt::format("insert or replace into {} values (?, ?)", k_notes_table)));
    return read_notes();
  }

  Result<void> read_notes() {
    VARVE_ASSIGN(const Statement all, prepare(fmt::format("select * from {}", k_notes_table)));
    const auto text = [&](int column) {
      const auto* value = reinterpret_cast<const char*>(sqlite3_column_text(all.get(), column));
      return std::string(value == nullptr ? "" : value);
    };
    int rc = sqlite3_step(all.get());
    for (; rc == SQLITE_ROW; rc = sqlite3_step(all.get())) {
      notes[text(0)] = text(1);
    }
    return rc == SQLITE_DONE ? Result<void>() : error();
  }

  Result<void> begin() {
    if (in_transaction) {
      return {};
    }
    VARVE_TRY(execute("begin"));
    in_transaction = true;
    return {};
  }

  Result<void> add(const Batch& batch) {
    VARVE_TRY(begin());
    for (std::size_t row = 0; row < batch.rows; ++row) {
      int place = 0;
      for (const std::size_t at : request.columns) {
        if (bind(insert.get(), ++place, request.schema->fields[at].type, batch.columns[at], row) !=
            SQLITE_OK) {
          return error();
        }
      }
      VARVE_TRY(step(insert.get()));
    }
    return {};
  }

  Result<void> write_notes(const std::map<std::string, std::string>& values) {
    VARVE_TRY(begin());
    for (const auto& [name, value] : values) {
      sqlite3_bind_text64(note.get(), 1, name.data(), name.size(), SQLITE_STATIC, SQLITE_UTF8);
      sqlite3_bind_text64(note.get(), 2, value.data(), value.size(), SQLITE_STATIC, SQLITE_UTF8);
      VARVE_TRY(step(note.get()));
    }
    return {};
  }

  Result<void> commit() {
    VARVE_TRY(execute("commit"));
    in_transaction = false;
    return {};
  }
};

SqliteFile::SqliteFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SqliteFile::~SqliteFile() = default;

Result<std::unique_ptr<SqliteFile>> SqliteFile::open(SqliteFileRequest request) {
  auto impl = std::make_unique<Impl>();
  impl->request = std::move(request);
  VARVE_TRY(impl->open());
  return std::unique_ptr<SqliteFile>(new SqliteFile(std::move(impl)));
}

const std::map<std::string, std::string>& SqliteFile::notes() const { return impl_->notes; }

Result<bool> SqliteFile::consume(Batch batch) {
  VARVE_TRY(impl_->add(batch));
  return true;
}

Result<void> SqliteFile::commit(const std::map<std::string, std::string>& notes) {
  VARVE_TRY(impl_->write_notes(notes));
  return impl_->commit();
}

Result<void> SqliteFile::finish(const std::map<std::string, std::string>& notes) {
  VARVE_TRY(impl_->begin());
  for (const std::string& column : impl_->request.indexed) {
    const std::string& table = impl_->request.table;
    VARVE_TRY(impl_->execute(fmt::format("create index {} on {} ({})",
                                         base::in_quotes(table + "_" + column),
                                         base::in_quotes(table), base::in_quotes(column))));
  }
  VARVE_TRY(impl_->execute(fmt::format("delete from {}", k_notes_table)));
  VARVE_TRY(impl_->write_notes(notes));
  VARVE_TRY(impl_->commit());
  impl_->close();
  return {};
}

}  // namespace varve::output
