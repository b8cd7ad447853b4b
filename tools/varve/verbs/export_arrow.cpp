// SPDX-License-Identifier: MIT OR Apache-2.0
// The export target `arrow`: Arrow's IPC stream.
#include <utility>

#include "output/arrow_ipc.hpp"
#include "verbs/export_typed.hpp"

namespace varve::cli {

namespace {

class ArrowExport final : public Exporter, private BatchSink {
 public:
  ArrowExport(const ExportJob& job, output::ArrowNode layout, std::vector<std::string> columns)
      : job_(job), layout_(std::move(layout)), columns_(std::move(columns)) {
    output::export_arrow_schema(job.view.schema(job.face), layout_, &schema_);
  }
  ArrowExport(const ArrowExport&) = delete;
  ArrowExport& operator=(const ArrowExport&) = delete;
  ~ArrowExport() override { schema_.release(&schema_); }

  Result<void> begin(ScanRequest& request) override {
    request.columns = columns_;
    if (const auto more = writer_.begin(provenance(job_)); !more) {
      return std::unexpected(more.error());
    }
    return {};
  }
  BatchSink& sink() override { return *this; }
  Result<void> finish() override {
    if (auto more = writer_.end(); !more) {
      return std::unexpected(more.error());
    }
    return {};
  }

 private:
  Result<bool> consume(Batch batch) override {
    ArrowArray array{};
    VARVE_TRY(output::export_arrow_array(batch, layout_, &array));
    auto more = writer_.write(array);
    array.release(&array);
    return more;
  }

  ExportJob job_;
  output::ArrowNode layout_;
  std::vector<std::string> columns_;
  ArrowSchema schema_{};
  output::ArrowIpcWriter writer_{schema_, job_.out};
};

Result<std::unique_ptr<Exporter>> make_arrow(const ExportJob& job) {
  VARVE_ASSIGN(auto columns, typed_columns(job, "arrow"));
  VARVE_ASSIGN(auto layout, output::arrow_layout(job.view.schema(job.face), columns));
  return std::make_unique<ArrowExport>(job, std::move(layout), std::move(columns));
}

const ExportTargetRegistration k_arrow({"arrow", make_arrow});

}  // namespace

}  // namespace varve::cli
