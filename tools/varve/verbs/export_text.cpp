// SPDX-License-Identifier: MIT OR Apache-2.0
// The export targets that are text: `jsonl`, the lines of `cat` and `state`, and `csv`.
#include "output/csv.hpp"
#include "output/json_lines.hpp"
#include "verbs/export_target.hpp"
#include "verbs/staged_output.hpp"

namespace varve::cli {

namespace {

// What is written so far is the staging file's.
class TextExporter : public Exporter {
 public:
  explicit TextExporter(StagedOutput* file) : file_(file) {}
  Result<ExportMark> take_up(const std::string& identity) override {
    identity_ = identity;
    VARVE_ASSIGN(ExportMark mark, file_->read_mark(identity));
    begun_ = mark.rows != 0;
    return mark;
  }
  Result<void> keep(const ExportMark& mark) override { return file_->keep(mark, identity_); }

 protected:
  bool begun_ = false;  // by an earlier run

 private:
  StagedOutput* file_;
  std::string identity_;
};

class JsonLines final : public TextExporter {
 public:
  explicit JsonLines(const ExportJob& job)
      : TextExporter(job.file),
        renderer_(job.view, job.face, render_options(job.session, job.target)),
        sink_(renderer_, job.out) {}
  Result<void> begin(ScanRequest& request) override {
    request.mapper = &renderer_;
    return {};
  }
  BatchSink& sink() override { return sink_; }

 private:
  output::LineRenderer renderer_;
  output::LineSink sink_;
};

class Csv final : public TextExporter {
 public:
  Csv(const ExportJob& job, std::vector<std::size_t> columns)
      : TextExporter(job.file),
        schema_(job.view.schema(job.face)),
        columns_(columns),
        renderer_(schema_, std::move(columns)),
        out_(job.out),
        sink_(renderer_, job.out) {}
  Result<void> begin(ScanRequest& request) override {
    for (const std::size_t at : columns_) {
      request.columns.push_back(schema_.fields[at].name);
    }
    request.mapper = &renderer_;
    if (!begun_) {
      VARVE_TRY(out_.write(renderer_.header()));
    }
    return {};
  }
  BatchSink& sink() override { return sink_; }

 private:
  const Schema& schema_;
  std::vector<std::size_t> columns_;
  output::CsvRenderer renderer_;
  output::ByteSink& out_;
  output::LineSink sink_;
};

Result<std::unique_ptr<Exporter>> make_json_lines(const ExportJob& job) {
  if (job.session.has("columns")) {
    return fail(ErrorCode::invalid_argument, "usage", "--columns has no meaning for --to jsonl");
  }
  return std::make_unique<JsonLines>(job);
}

Result<std::unique_ptr<Exporter>> make_csv(const ExportJob& job) {
  for (const char* option : {"payload", "int64"}) {
    if (job.session.has(option)) {
      return fail(ErrorCode::invalid_argument, "usage",
                  std::string("--") + option + " has no meaning for --to csv");
    }
  }
  VARVE_ASSIGN(auto columns, export_columns(job.session, job.view.schema(job.face)));
  return std::make_unique<Csv>(job, std::move(columns));
}

const ExportTargetRegistration k_json_lines({"jsonl", make_json_lines, true});
const ExportTargetRegistration k_csv({"csv", make_csv, true});

}  // namespace

}  // namespace varve::cli
