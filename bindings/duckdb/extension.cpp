// SPDX-License-Identifier: MIT OR Apache-2.0
// The loadable extension: table functions varve_log('PATH'), varve_state, varve_units,
// varve_segments and varve_findings, each with the named parameters of k_parameters.
#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "output/duckdb_rows.hpp"
#include "query/store_tables.hpp"
#include "store/open.hpp"

namespace varve {

namespace {

using output::duckdb;
using output::DuckdbHandle;
using output::DuckdbIndex;
using query::StoreTables;
using query::TableKind;
using query::TableStream;

constexpr const char* k_seq_first = "seq_first";      // inclusive
constexpr const char* k_seq_last = "seq_last";        // inclusive
constexpr const char* k_since = "since_us";           // inclusive, microseconds since 1970
constexpr const char* k_until = "until_us";           // exclusive
constexpr const char* k_filters = "filters";          // ['did=...', 'collection=...']
constexpr const char* k_skip_damage = "skip_damage";  // else damage ends the query

Result<std::unique_ptr<StoreTables>> open_tables(const std::string& path) {
  VARVE_ASSIGN(const store::Located located,
               store::locate(formats(), io::posix_file_system(), path));
  query::StoreSource source;
  source.format = located.format;
  source.files = &io::posix_file_system();
  source.path = located.path;
  return StoreTables::open(std::move(source));
}

// What one use of a function in a statement was bound to.
struct Bound {
  std::string path;
  TableKind kind = TableKind::log;
  std::vector<std::size_t> columns;  // those of the table that can be selected
  Predicate predicate;
  bool skip_damage = false;

  // The tables that binding opened for the first scan, new ones for the others, which may run at
  // the same time.
  Result<std::unique_ptr<StoreTables>> take_tables() {
    const std::scoped_lock lock(mutex);
    return ready != nullptr ? std::move(ready) : open_tables(path);
  }
  std::mutex mutex;
  std::unique_ptr<StoreTables> ready;
};

// One scan in progress.
struct Scan {
  std::unique_ptr<StoreTables> tables;  // before the stream, which refers to them
  std::unique_ptr<TableStream> stream;
  const Schema* schema = nullptr;
  std::vector<std::size_t> outputs;  // of the schema; its size and more: a column nobody looks at
  bool skip_damage = false;
  std::optional<Batch> batch;
  std::size_t next_row = 0;
};

// Damage ends the query, unless it is to be skipped: nobody reads the host's stderr. A torn tail is
// what every store has while it is written.
class FirstDamage final : public FindingSink {
 public:
  void add(Finding finding) override {
    if (!first_ && finding.severity == Severity::error && finding.verdict != Verdict::torn) {
      first_ = std::move(finding);
    }
  }
  const std::optional<Finding>& first() const { return first_; }

 private:
  std::optional<Finding> first_;
};

template <class T>
void destroy(void* pointer) {
  std::unique_ptr<T>(static_cast<T*>(pointer)).reset();
}

// A value of a parameter, given back when it goes.
class Value {
 public:
  explicit Value(DuckdbHandle handle) : handle_(handle) {}
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;
  ~Value() {
    if (handle_ != nullptr) {
      duckdb().destroy_value(&handle_);
    }
  }
  bool given() const { return handle_ != nullptr; }
  std::int64_t integer() const { return duckdb().get_int64(handle_); }
  std::string text() const {
    char* chars = duckdb().get_varchar(handle_);
    std::string out = chars != nullptr ? chars : "";
    duckdb().free(chars);
    return out;
  }
  DuckdbIndex list_size() const { return duckdb().get_list_size(handle_); }
  DuckdbHandle child(DuckdbIndex at) const { return duckdb().get_list_child(handle_, at); }

 private:
  DuckdbHandle handle_;
};

std::unexpected<Error> refuse(std::string message) {
  return fail(ErrorCode::invalid_argument, "parameter", std::move(message));
}

Result<FilterTerm> filter_term(const Format& format, const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const auto known = [&](const FilterSpec& filter) { return filter.name == name; };
  if (equals == text.npos || !std::ranges::any_of(format.filters(), known)) {
    std::string names;
    for (const FilterSpec& filter : format.filters()) {
      names += (names.empty() ? "" : ", ") + std::string(filter.name);
    }
    return refuse("filters: '" + text + "' is no 'name=value' with a name of: " + names);
  }
  return FilterTerm{name, text.substr(equals + 1)};
}

Result<void> read_parameters(DuckdbHandle info, const Format& format, Bound& bound) {
  const auto integer = [&](const char* name) {
    const Value value(duckdb().bind_get_named_parameter(info, name));
    return value.given() ? std::optional(value.integer()) : std::nullopt;
  };
  const auto seq = [&](const char* name) -> std::optional<std::uint64_t> {
    const auto value = integer(name);
    return value ? std::optional(static_cast<std::uint64_t>(std::max<std::int64_t>(*value, 0)))
                 : std::nullopt;
  };
  bound.predicate.seq_first = seq(k_seq_first);
  bound.predicate.seq_last = seq(k_seq_last);
  bound.predicate.since_us = integer(k_since);
  bound.predicate.until_us = integer(k_until);
  bound.skip_damage = integer(k_skip_damage).value_or(0) != 0;
  const Value filters(duckdb().bind_get_named_parameter(info, k_filters));
  for (DuckdbIndex i = 0; filters.given() && i < filters.list_size(); ++i) {
    VARVE_ASSIGN(FilterTerm term, filter_term(format, Value(filters.child(i)).text()));
    bound.predicate.terms.push_back(std::move(term));
  }
  if ((bound.predicate.seq_first || bound.predicate.seq_last) && !format.has_seq()) {
    return refuse(std::string(format.name()) + " records have no sequence numbers");
  }
  if ((bound.predicate.since_us || bound.predicate.until_us) && !format.has_time()) {
    return refuse(std::string(format.name()) + " records have no times");
  }
  if (!bound.predicate.empty() && bound.kind != TableKind::log && bound.kind != TableKind::state) {
    return refuse("only the log and the state can be filtered");
  }
  return {};
}

Result<std::unique_ptr<Bound>> bind_table(DuckdbHandle info, TableKind kind) {
  auto bound = std::make_unique<Bound>();
  bound->path = Value(duckdb().bind_get_parameter(info, 0)).text();
  bound->kind = kind;
  VARVE_ASSIGN(bound->ready, open_tables(bound->path));
  VARVE_TRY(read_parameters(info, *bound->ready->source().format, *bound));
  const query::TableShape& shape = bound->ready->shape(kind);
  for (std::size_t i = 0; i < shape.schema->fields.size(); ++i) {
    output::add_duckdb_column(info, shape.schema->fields[i]);
    bound->columns.push_back(i);
  }
  return bound;
}

// What is told when a callback fails, in words.
template <class Work>
std::optional<std::string> failure_of(Work&& work) {
  try {
    const Result<void> done = work();
    return done ? std::nullopt : std::optional(done.error().text());
  } catch (const std::exception& e) {
    return e.what();
  }
}

void on_bind(DuckdbHandle info) {
  const auto* kind = static_cast<const TableKind*>(duckdb().bind_get_extra_info(info));
  const auto failure = failure_of([&]() -> Result<void> {
    VARVE_ASSIGN(auto bound, bind_table(info, *kind));
    duckdb().bind_set_bind_data(info, bound.release(), destroy<Bound>);
    return {};
  });
  if (failure) {
    duckdb().bind_set_error(info, failure->c_str());
  }
}

Result<std::unique_ptr<Scan>> start_scan(DuckdbHandle info, Bound& bound) {
  auto scan = std::make_unique<Scan>();
  VARVE_ASSIGN(scan->tables, bound.take_tables());
  const query::TableShape& shape = scan->tables->shape(bound.kind);
  scan->schema = shape.schema;
  scan->skip_damage = bound.skip_damage;
  query::TableRequest request;
  request.columns.resize(shape.columns.size());
  request.predicate = bound.predicate;
  for (DuckdbIndex i = 0; i < duckdb().init_get_column_count(info); ++i) {
    const DuckdbIndex at = duckdb().init_get_column_index(info, i);
    scan->outputs.push_back(static_cast<std::size_t>(at));
    if (at < bound.columns.size()) {
      request.columns[static_cast<std::size_t>(at)] = true;
    }
  }
  VARVE_ASSIGN(scan->stream, scan->tables->start(bound.kind, request));
  return scan;
}

void on_init(DuckdbHandle info) {
  auto* bound = static_cast<Bound*>(duckdb().init_get_bind_data(info));
  const auto failure = failure_of([&]() -> Result<void> {
    VARVE_ASSIGN(auto scan, start_scan(info, *bound));
    duckdb().init_set_init_data(info, scan.release(), destroy<Scan>);
    return {};
  });
  if (failure) {
    duckdb().init_set_error(info, failure->c_str());
  }
}

Result<void> fill(Scan& scan, DuckdbHandle chunk) {
  while (!scan.batch || scan.next_row == scan.batch->rows) {
    FirstDamage damage;
    VARVE_ASSIGN(scan.batch, scan.stream->next(damage));
    scan.next_row = 0;
    if (damage.first() && !scan.skip_damage) {
      Error error = to_error(*damage.first());
      error.message += " (skip_damage := true reads what is whole)";
      return std::unexpected(std::move(error));
    }
    if (!scan.batch) {
      duckdb().data_chunk_set_size(chunk, 0);
      return {};
    }
  }
  const std::size_t rows = std::min(scan.batch->rows - scan.next_row, output::k_duckdb_chunk_rows);
  for (std::size_t i = 0; i < scan.outputs.size(); ++i) {
    const std::size_t at = scan.outputs[i];
    if (at < scan.schema->fields.size()) {
      output::fill_duckdb_vector(scan.schema->fields[at], scan.batch->columns[at], scan.next_row,
                                 rows, duckdb().data_chunk_get_vector(chunk, i));
    }
  }
  scan.next_row += rows;
  duckdb().data_chunk_set_size(chunk, rows);
  return {};
}

void on_fill(DuckdbHandle info, DuckdbHandle chunk) {
  auto* scan = static_cast<Scan*>(duckdb().function_get_init_data(info));
  if (const auto failure = failure_of([&] { return fill(*scan, chunk); })) {
    duckdb().data_chunk_set_size(chunk, 0);
    duckdb().function_set_error(info, failure->c_str());
  }
}

void add_parameter(DuckdbHandle function, const char* name, std::uint32_t type) {
  DuckdbHandle handle = duckdb().create_logical_type(type);
  duckdb().table_function_add_named_parameter(function, name, handle);
  duckdb().destroy_logical_type(&handle);
}

bool register_table(DuckdbHandle connection, const TableKind& kind) {
  DuckdbHandle text = duckdb().create_logical_type(output::k_duckdb_text);
  DuckdbHandle texts = duckdb().create_list_type(text);
  DuckdbHandle function = duckdb().create_table_function();
  const std::string name = "varve_" + std::string(query::to_text(kind));
  duckdb().table_function_set_name(function, name.c_str());
  duckdb().table_function_add_parameter(function, text);
  for (const char* parameter : {k_seq_first, k_seq_last, k_since, k_until}) {
    add_parameter(function, parameter, output::k_duckdb_int64);
  }
  add_parameter(function, k_skip_damage, output::k_duckdb_boolean);
  duckdb().table_function_add_named_parameter(function, k_filters, texts);
  duckdb().table_function_set_extra_info(function, const_cast<TableKind*>(&kind), nullptr);
  duckdb().table_function_set_bind(function, on_bind);
  duckdb().table_function_set_init(function, on_init);
  duckdb().table_function_set_function(function, on_fill);
  duckdb().table_function_supports_projection_pushdown(function, true);
  const bool done = duckdb().register_table_function(connection, function) == 0;
  duckdb().destroy_table_function(&function);
  duckdb().destroy_logical_type(&texts);
  duckdb().destroy_logical_type(&text);
  return done;
}

// duckdb_extension_access
struct ExtensionAccess {
  void (*set_error)(DuckdbHandle info, const char* error);
  DuckdbHandle* (*get_database)(DuckdbHandle info);
  const void* (*get_api)(DuckdbHandle info, const char* version);
};

bool load(DuckdbHandle info, const ExtensionAccess& access) {
  const auto* functions = static_cast<void* const*>(access.get_api(info, "v1.2.0"));
  if (functions == nullptr) {
    return false;  // DuckDB has said why
  }
  output::DuckdbApi api;
#define VARVE_DUCKDB_TAKE(place, result, name, ...) \
  api.name = reinterpret_cast<decltype(api.name)>(functions[place]);
  VARVE_DUCKDB_FUNCTIONS(VARVE_DUCKDB_TAKE)
#undef VARVE_DUCKDB_TAKE
  output::set_duckdb(api);
  DuckdbHandle connection = nullptr;
  if (duckdb().connect(*access.get_database(info), &connection) != 0) {
    access.set_error(info, "varve: no connection to the database");
    return false;
  }
  const bool done = std::ranges::all_of(query::k_table_kinds, [&](const TableKind& kind) {
    return register_table(connection, kind);
  });
  duckdb().disconnect(&connection);
  if (!done) {
    access.set_error(info, "varve: the database takes no table functions");
  }
  return done;
}

}  // namespace

}  // namespace varve

extern "C" __attribute__((visibility("default"))) bool varve_init_c_api(
    varve::output::DuckdbHandle info, const varve::ExtensionAccess* access);

extern "C" bool varve_init_c_api(varve::output::DuckdbHandle info,
                                 const varve::ExtensionAccess* access) {
  return varve::load(info, *access);
}
