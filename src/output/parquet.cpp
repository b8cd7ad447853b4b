// SPDX-License-Identifier: MIT OR Apache-2.0
#include "output/parquet.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <thread>
#include <utility>

#include "base/in_quotes.hpp"
#include "output/batch_queue.hpp"
#include "output/duckdb_rows.hpp"

namespace varve::output {

namespace {

// Row groups of large values end here, so that they fit into memory.
constexpr std::string_view k_row_group_bytes = "256MB";

// A column, or the struct of its members.
std::string expression(const Schema& schema, const ArrowNode& node) {
  if (node.field >= 0) {
    return base::in_quotes(schema.fields[static_cast<std::size_t>(node.field)].name, '"');
  }
  std::string members;
  for (const ArrowNode& child : node.children) {
    members += (members.empty() ? "" : ", ") + base::in_quotes(child.name, '\'') + ": " +
               expression(schema, child);
  }
  return "{" + members + "}";
}

void collect_fields(const ArrowNode& node, std::vector<std::size_t>& fields) {
  if (node.field >= 0) {
    fields.push_back(static_cast<std::size_t>(node.field));
  }
  for (const ArrowNode& child : node.children) {
    collect_fields(child, fields);
  }
}

// What stands in for a value that is not known yet: nothing that data would contain by chance, and
// longer than any value, so that the file only ever becomes shorter.
std::string placeholder(const std::string& key) {
  std::string text = "(varve did not finish this file: " + key + ")";
  text.resize(120, '.');
  return text;
}

}  // namespace

struct ParquetWriter::Impl {
  explicit Impl(ParquetRequest wanted) : request(std::move(wanted)) {
    collect_fields(request.layout, fields);
  }

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl();

  static Impl& of(void* extra) { return *static_cast<Impl*>(extra); }
  static void bind_rows(DuckdbHandle info);
  static void fill_rows(DuckdbHandle info, DuckdbHandle chunk);
  std::string copy_statement() const;
  Result<void> set_up();
  Result<void> run(const std::string& sql);
  void write();
  void fill(DuckdbHandle info, DuckdbHandle chunk);
  std::size_t chunk_rows(std::size_t rows_left);

  ParquetRequest request;
  std::vector<std::size_t> fields;  // of the schema, in the order of the table's columns
  DuckdbHandle database = nullptr;
  DuckdbHandle connection = nullptr;
  BatchQueue queue;
  std::optional<Batch> batch;  // DuckDB's thread: the one that chunks are made of
  std::size_t next_row = 0;
  std::size_t group_rows = 0;  // rows of the row group that is being filled
  Result<void> outcome;        // of the copy; read when the thread was joined
  std::thread thread;
};

// DuckDB ends a row group with the chunk that takes it to the wanted number of rows, so the chunks
// are cut so that this is the last one of a batch: one before it ends a row short of that number.
std::size_t ParquetWriter::Impl::chunk_rows(std::size_t rows_left) {
  const std::size_t wanted = request.row_group_rows;
  std::size_t rows = std::min(rows_left, k_duckdb_chunk_rows);
  if (rows < rows_left && group_rows + rows >= wanted && group_rows + 1 < wanted) {
    rows = wanted - 1 - group_rows;
  }
  group_rows += rows;
  if (group_rows >= wanted) {
    group_rows = 0;
  }
  return rows;
}

void ParquetWriter::Impl::bind_rows(DuckdbHandle info) {
  const Impl& state = of(duckdb().bind_get_extra_info(info));
  for (const std::size_t field : state.fields) {
    add_duckdb_column(info, state.request.schema->fields[field]);
  }
}

void ParquetWriter::Impl::fill_rows(DuckdbHandle info, DuckdbHandle chunk) {
  of(duckdb().function_get_extra_info(info)).fill(info, chunk);
}

void ParquetWriter::Impl::fill(DuckdbHandle info, DuckdbHandle chunk) {
  while (!batch || next_row == batch->rows) {
    std::optional<Error> error;
    batch = queue.take(error);
    next_row = 0;
    if (!batch) {
      if (error) {
        duckdb().function_set_error(info, error->text().c_str());
      }
      duckdb().data_chunk_set_size(chunk, 0);
      return;
    }
  }
  const std::size_t rows = chunk_rows(batch->rows - next_row);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    fill_duckdb_vector(request.schema->fields[fields[i]], batch->columns[fields[i]], next_row, rows,
                       duckdb().data_chunk_get_vector(chunk, i));
  }
  next_row += rows;
  duckdb().data_chunk_set_size(chunk, rows);
}

std::string ParquetWriter::Impl::copy_statement() const {
  std::string columns;
  for (const ArrowNode& node : request.layout.children) {
    columns += (columns.empty() ? "" : ", ") + expression(*request.schema, node) + " AS " +
               base::in_quotes(node.name, '"');
  }
  std::map<std::string, std::string> metadata = request.metadata;
  for (const std::string& key : request.later_metadata) {
    metadata[key] = placeholder(key);
  }
  std::string pairs;
  for (const auto& [key, value] : metadata) {
    pairs += (pairs.empty() ? "" : ", ") + base::in_quotes(key, '\'') + ": " +
             base::in_quotes(value, '\'');
  }
  return "COPY (SELECT " + columns + " FROM varve_rows()) TO " +
         base::in_quotes(request.path, '\'') +
         " (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false, ROW_GROUP_SIZE " +
         std::to_string(request.row_group_rows) + ", ROW_GROUP_SIZE_BYTES '" +
         std::string(k_row_group_bytes) + "', KV_METADATA {" + pairs + "})";
}

Result<void> ParquetWriter::Impl::run(const std::string& sql) {
  DuckdbResult result{};
  const bool failed = duckdb().query(connection, sql.c_str(), &result) != 0;
  const char* said = failed ? duckdb().result_error(&result) : nullptr;
  const std::string error = said != nullptr ? said : "it does not say why";
  duckdb().destroy_result(&result);
  if (failed) {
    return fail(ErrorCode::io, "duckdb", "DuckDB: " + error, request.path);
  }
  return {};
}

// A database in memory that reads and writes nothing but the one file: no extension is fetched, and
// nothing is spilled to the working directory.
Result<void> ParquetWriter::Impl::set_up() {
  char* why = nullptr;
  if (duckdb().open_ext(nullptr, &database, nullptr, &why) != 0 ||
      duckdb().connect(database, &connection) != 0) {
    const std::string error = why != nullptr ? why : "no connection";
    duckdb().free(why);
    return fail(ErrorCode::io, "duckdb", "DuckDB does not start: " + error);
  }
  // One thread, and with it the order of the rows, although the order is declared unimportant: else
  // DuckDB accepts no limit of bytes.
  for (const char* setting :
       {"SET autoinstall_known_extensions = false", "SET autoload_known_extensions = false",
        "SET temp_directory = ''", "SET threads = 1", "SET preserve_insertion_order = false"}) {
    VARVE_TRY(run(setting));
  }
  DuckdbHandle function = duckdb().create_table_function();
  duckdb().table_function_set_name(function, "varve_rows");
  duckdb().table_function_set_extra_info(function, this, nullptr);
  duckdb().table_function_set_bind(function, bind_rows);
  duckdb().table_function_set_init(function, [](DuckdbHandle) {});
  duckdb().table_function_set_function(function, fill_rows);
  const bool failed = duckdb().register_table_function(connection, function) != 0;
  duckdb().destroy_table_function(&function);
  if (failed) {
    return fail(ErrorCode::io, "duckdb", "DuckDB takes no table function");
  }
  return {};
}

void ParquetWriter::Impl::write() {
  try {
    outcome = run(copy_statement());
  } catch (const std::exception& e) {
    outcome = fail(ErrorCode::io, "duckdb", e.what(), request.path);
  }
  queue.stop();
}

ParquetWriter::Impl::~Impl() {
  if (thread.joinable()) {
    queue.end(fail(ErrorCode::io, "scan", "the scan did not come to its end").error());
    thread.join();
  }
  if (connection != nullptr) {
    duckdb().disconnect(&connection);
  }
  if (database != nullptr) {
    duckdb().close(&database);
  }
}

ParquetWriter::ParquetWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

ParquetWriter::~ParquetWriter() = default;

Result<std::unique_ptr<ParquetWriter>> ParquetWriter::start(ParquetRequest request) {
  auto impl = std::make_unique<Impl>(std::move(request));
  VARVE_TRY(impl->set_up());
  impl->thread = std::thread([state = impl.get()] { state->write(); });
  return std::unique_ptr<ParquetWriter>(new ParquetWriter(std::move(impl)));
}

Result<bool> ParquetWriter::consume(Batch batch) { return impl_->queue.consume(std::move(batch)); }

Result<void> ParquetWriter::finish(const std::map<std::string, std::string>& later,
                                   io::File& file) {
  impl_->queue.end(std::nullopt);
  impl_->thread.join();
  VARVE_TRY(impl_->outcome);
  std::map<std::string, std::string> new_by_old;
  for (const auto& [key, value] : later) {
    new_by_old[placeholder(key)] = value;
  }
  return replace_parquet_metadata(file, new_by_old);
}

}  // namespace varve::output
