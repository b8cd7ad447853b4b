// SPDX-License-Identifier: MIT OR Apache-2.0
// Exports that go on where an earlier run was interrupted (`export --resume`).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "terminal/progress.hpp"
#include "varve/scan.hpp"
#include "verbs/export_mark.hpp"

namespace varve::cli {

// What makes two exports write the same rows in the same form, as one line of text.
std::string export_identity(std::string_view to, const ScanRequest& request,
                            const std::vector<std::string>& form);

// Stands before an exporter's sink: passes over the rows that an earlier run has written, keeps a
// mark now and then and when a signal comes, and tells the progress.
class ResumingSink final : public BatchSink {
 public:
  struct Plan {
    std::optional<ExportMark> from;  // nullopt: the export is not resumable, nothing is kept
    // Makes what was written durable together with the mark.
    std::function<Result<void>(const ExportMark&)> keep;
    terminal::Progress* progress = nullptr;
  };
  // Takes the request's mapper behind itself: rows that are passed over are not rendered.
  ResumingSink(BatchSink& next, ScanRequest& request, Plan plan);

  Result<bool> consume(Batch batch) override;
  // Called behind the last row. Errors: invalid_argument if there were fewer rows than the earlier
  // run has written.
  Result<void> end() const;
  // The signal that stopped the export, or 0.
  int interrupted() const { return interrupted_; }
  std::uint64_t rows() const { return rows_; }

 private:
  class Gate final : public BatchMapper {
   public:
    void map(Batch& batch) const override {
      if (open && behind != nullptr) {
        behind->map(batch);
      }
    }
    const BatchMapper* behind = nullptr;
    std::atomic<bool> open{true};
  };
  using Clock = std::chrono::steady_clock;

  Result<void> pass_over(Batch& batch);

  BatchSink& next_;
  Plan plan_;
  Gate gate_;
  std::uint64_t rows_ = 0;
  Clock::time_point kept_ = Clock::now();
  int interrupted_ = 0;
};

}  // namespace varve::cli
