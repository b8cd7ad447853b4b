// SPDX-License-Identifier: MIT OR Apache-2.0
// The export target `parquet`, written by the DuckDB that this machine has.
#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "output/parquet.hpp"
#include "verbs/export_typed.hpp"
#include "verbs/staged_output.hpp"

namespace varve::cli {

namespace {

// What is only known behind the last row.
constexpr const char* k_rows = "varve.rows";
constexpr const char* k_seq = "varve.seq";
constexpr const char* k_verdict = "varve.verdict";

std::uint64_t seq_at(const Column& column, ColumnType type, std::size_t row) {
  return type == ColumnType::uint32 ? column.value<std::uint32_t>(row)
                                    : column.value<std::uint64_t>(row);
}

class ParquetExport final : public Exporter, private BatchSink {
 public:
  ParquetExport(const ExportJob& job, output::ArrowNode layout, std::vector<std::string> columns)
      : job_(job), layout_(std::move(layout)), columns_(std::move(columns)) {}

  Result<void> begin(ScanRequest& request) override {
    const Schema& schema = job_.view.schema(job_.face);
    request.columns = columns_;
    const bool with_seq = std::ranges::find(columns_, "seq") != columns_.end();
    seq_ = job_.face == Face::log && with_seq ? schema.find("seq") : -1;
    output::ParquetRequest wanted;
    wanted.schema = &schema;
    wanted.layout = layout_;
    wanted.path = job_.file->path();
    wanted.metadata = provenance(job_);
    wanted.later_metadata = {k_rows, k_seq, k_verdict};
    if (job_.session.has("row-group")) {
      VARVE_ASSIGN(wanted.row_group_rows,
                   parse_count("row-group", job_.session.arguments().value("row-group")));
      if (wanted.row_group_rows == 0) {
        return fail(ErrorCode::invalid_argument, "usage", "--row-group is at least 1");
      }
    }
    VARVE_ASSIGN(writer_, output::ParquetWriter::start(std::move(wanted)));
    return {};
  }
  BatchSink& sink() override { return *this; }
  void scanned(const ScanSummary& summary) override { summary_ = summary; }
  Result<void> finish() override {
    const std::string range =
        first_seq_ ? std::to_string(*first_seq_) + ".." + std::to_string(last_seq_) : "";
    return writer_->finish({{k_rows, std::to_string(summary_.rows)},
                            {k_seq, range},
                            {k_verdict, std::string(to_text(summary_.verdict))}},
                           job_.file->file());
  }

 private:
  Result<bool> consume(Batch batch) override {
    if (seq_ >= 0 && batch.rows != 0) {
      const Column& seq = batch.columns[static_cast<std::size_t>(seq_)];
      const ColumnType type = batch.schema->fields[static_cast<std::size_t>(seq_)].type;
      if (!first_seq_) {
        first_seq_ = seq_at(seq, type, 0);
      }
      last_seq_ = seq_at(seq, type, batch.rows - 1);
    }
    return writer_->consume(std::move(batch));
  }

  ExportJob job_;
  output::ArrowNode layout_;
  std::vector<std::string> columns_;
  int seq_ = -1;
  std::optional<std::uint64_t> first_seq_;
  std::uint64_t last_seq_ = 0;
  ScanSummary summary_;
  std::unique_ptr<output::ParquetWriter> writer_;
};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// Where DuckDB's library may be: where the user says, where scripts/with-duckdb puts it, where the
// system has libraries.
std::vector<std::string> duckdb_candidates() {
  const std::string named = variable("VARVE_DUCKDB");
  if (!named.empty()) {
    return {named};
  }
  std::vector<std::string> paths;
  std::string data = variable("XDG_DATA_HOME");
  if (data.empty() && !variable("HOME").empty()) {
    data = variable("HOME") + "/.local/share";
  }
  if (!data.empty()) {
    paths.push_back(data + "/varve/duckdb/libduckdb.so");
  }
  paths.emplace_back("libduckdb.so");
  return paths;
}

Result<std::unique_ptr<Exporter>> make_parquet(const ExportJob& job) {
  if (job.file == nullptr) {
    return fail(ErrorCode::invalid_argument, "usage", "--to parquet needs a file: -o FILE");
  }
  VARVE_ASSIGN(auto columns, typed_columns(job, "parquet"));
  VARVE_ASSIGN(auto layout, output::arrow_layout(job.view.schema(job.face), columns));
  VARVE_TRY(output::load_duckdb(duckdb_candidates()));
  return std::make_unique<ParquetExport>(job, std::move(layout), std::move(columns));
}

const ExportTargetRegistration k_parquet({"parquet", make_parquet});

}  // namespace

}  // namespace varve::cli
