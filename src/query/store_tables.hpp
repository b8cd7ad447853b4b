// SPDX-License-Identifier: MIT OR Apache-2.0
// A store as tables: what columns they have, and streams of their rows. Knows nothing of SQL.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "query/row_stream.hpp"
#include "varve/store.hpp"

namespace varve::query {

enum class TableKind : std::uint8_t { log, state, units, segments, findings };
inline constexpr TableKind k_table_kinds[] = {TableKind::log, TableKind::state, TableKind::units,
                                              TableKind::segments, TableKind::findings};
std::string_view to_text(TableKind kind);
std::optional<TableKind> table_of_name(std::string_view name);

// What a condition on a column can be turned into.
enum class Pushdown : std::uint8_t { nothing, seq, time, filter };

// A column of a table. Those of the schema come first, in its order; then, hidden, one for each
// filter of the format that no column stands for (a condition on it is that filter), and in the log
// and the state `line`: the row as `cat` prints it.
struct TableColumn {
  std::string name;
  ColumnType type = ColumnType::text;
  bool hidden = false;
  bool is_line = false;
  bool is_argument = false;  // a hidden filter
  Pushdown pushdown = Pushdown::nothing;
  const FilterSpec* filter = nullptr;  // if pushdown is filter
  bool takes_prefix = false;           // the filter takes "text.*"
};

struct TableShape {
  const Schema* schema = nullptr;
  std::vector<TableColumn> columns;
};

// The shape of `log` or `state`; the schema outlives it.
TableShape face_shape(const Format& format, Face face, const Schema& schema);

// Where the rows come from.
struct StoreSource {
  const Format* format = nullptr;
  io::FileSystem* files = nullptr;
  std::string path;
  OpenOptions open;
  // What every scan is asked for: format options, threads, memory, filters of the command line.
  ScanRequest request;
};

// What one scan of a table is asked for besides.
struct TableRequest {
  std::vector<bool> columns;  // as TableShape::columns: those to fill
  Predicate predicate;        // on top of the source's own; log and state only
  // Whether the caller checks the predicate's terms itself, row by row, so that a term which the
  // format finds malformed (a DID that is none) can be dropped.
  bool terms_checked = false;
  const BatchMapper* mapper = nullptr;
};

class StoreTables;

// The rows of one table, pulled.
class TableStream {
 public:
  TableStream(StoreTables& tables, std::unique_ptr<StoreView> view);
  TableStream(const TableStream&) = delete;
  TableStream& operator=(const TableStream&) = delete;
  ~TableStream();

  // The next batch, mapped, or nullopt at the end; see RowStream.
  Result<std::optional<Batch>> next(FindingSink& findings);
  Verdict verdict() const { return rows_->verdict(); }

 private:
  friend class StoreTables;
  StoreTables& tables_;
  std::unique_ptr<StoreView> view_;
  std::unique_ptr<BatchMapper> lines_;  // if `line` was asked for
  ScanRequest request_;
  std::optional<RowStream> rows_;
};

// Views are opened as they are needed, one for each stream that runs at the same time, and kept.
class StoreTables {
 public:
  // Opens the first view, so that a path that is no store is told here.
  static Result<std::unique_ptr<StoreTables>> open(StoreSource source);

  const TableShape& shape(TableKind kind) const;
  const StoreSource& source() const { return source_; }
  // The stream must not outlive the tables, nor the request's mapper the stream.
  Result<std::unique_ptr<TableStream>> start(TableKind kind, const TableRequest& request);
  // What the scan would read; null where the format or table has no plan.
  Result<Json> plan(TableKind kind, const TableRequest& request);

 private:
  friend class TableStream;
  explicit StoreTables(StoreSource source) : source_(std::move(source)) {}
  Result<std::unique_ptr<StoreView>> take_view();
  void give_back(std::unique_ptr<StoreView> view);
  Predicate own_predicate(Face face) const;
  ScanRequest scan_request(TableKind kind, const TableRequest& request) const;

  StoreSource source_;
  std::vector<std::unique_ptr<StoreView>> idle_;
  std::vector<TableShape> shapes_;  // by TableKind
};

}  // namespace varve::query
