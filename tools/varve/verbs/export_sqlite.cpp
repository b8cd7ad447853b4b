// SPDX-License-Identifier: MIT OR Apache-2.0
// The export target `sqlite`: a table with indexes in a database of its own.
#include "output/sqlite_file.hpp"
#include "query/store_tables.hpp"
#include "verbs/export_typed.hpp"
#include "verbs/staged_output.hpp"

namespace varve::cli {

namespace {

// The notes of a database that is not finished.
constexpr const char* k_rows = "rows";
constexpr const char* k_last = "last";
constexpr const char* k_identity = "identity";

std::uint64_t number_of(const std::map<std::string, std::string>& notes, const char* name) {
  const auto at = notes.find(name);
  return at == notes.end() ? 0 : std::strtoull(at->second.c_str(), nullptr, 10);
}
std::string text_of(const std::map<std::string, std::string>& notes, const char* name) {
  const auto at = notes.find(name);
  return at == notes.end() ? std::string() : at->second;
}

class SqliteExport final : public Exporter {
 public:
  SqliteExport(const ExportJob& job, std::vector<std::size_t> columns)
      : job_(job), columns_(std::move(columns)) {}

  Result<ExportMark> take_up(const std::string& identity) override {
    identity_ = identity;
    VARVE_TRY(open(true));
    const ExportMark mark{number_of(file_->notes(), k_rows), text_of(file_->notes(), k_last)};
    if (mark.rows == 0 || text_of(file_->notes(), k_identity) == identity) {
      return mark;
    }
    if (!job_.file->force()) {
      return fail(ErrorCode::invalid_argument, "resume",
                  "--resume: what is left there is of an export with other options; with --force "
                  "this one begins anew",
                  job_.file->path());
    }
    file_.reset();
    VARVE_TRY(job_.file->file().truncate(0));
    VARVE_TRY(open(true));
    return ExportMark{};
  }
  Result<void> keep(const ExportMark& mark) override {
    return file_->commit(
        {{k_rows, std::to_string(mark.rows)}, {k_last, mark.last}, {k_identity, identity_}});
  }

  Result<void> begin(ScanRequest& request) override {
    for (const std::size_t at : columns_) {
      request.columns.push_back(job_.view.schema(job_.face).fields[at].name);
    }
    return file_ ? Result<void>() : open(false);
  }
  BatchSink& sink() override { return *file_; }
  void scanned(const ScanSummary& summary) override { summary_ = summary; }
  Result<void> finish() override {
    auto notes = provenance(job_);
    notes["varve.rows"] = std::to_string(summary_.rows);
    notes["varve.verdict"] = to_text(summary_.verdict);
    return file_->finish(notes);
  }

 private:
  Result<void> open(bool durable) {
    output::SqliteFileRequest request;
    request.schema = &job_.view.schema(job_.face);
    request.columns = columns_;
    request.path = job_.file->path();
    request.table = job_.face == Face::state ? "state" : "log";
    // What a scan can be narrowed by is what people ask for.
    const query::TableShape shape =
        query::face_shape(*job_.target.format, job_.face, *request.schema);
    for (const std::size_t at : columns_) {
      if (shape.columns[at].pushdown != query::Pushdown::nothing) {
        request.indexed.push_back(shape.columns[at].name);
      }
    }
    request.durable = durable;
    VARVE_ASSIGN(file_, output::SqliteFile::open(std::move(request)));
    return {};
  }

  ExportJob job_;
  std::vector<std::size_t> columns_;
  std::unique_ptr<output::SqliteFile> file_;
  std::string identity_;
  ScanSummary summary_;
};

Result<std::unique_ptr<Exporter>> make_sqlite(const ExportJob& job) {
  if (job.file == nullptr) {
    return fail(ErrorCode::invalid_argument, "usage", "--to sqlite needs a file: -o FILE");
  }
  VARVE_TRY(typed_columns(job, "sqlite"));
  VARVE_ASSIGN(auto columns, export_columns(job.session, job.view.schema(job.face)));
  return std::make_unique<SqliteExport>(job, std::move(columns));
}

const ExportTargetRegistration k_sqlite({"sqlite", make_sqlite, true});

}  // namespace

}  // namespace varve::cli
