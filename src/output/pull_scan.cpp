// SPDX-License-Identifier: MIT OR Apache-2.0
#include "output/pull_scan.hpp"

#include <exception>

namespace varve::output {

PullScan::PullScan(std::shared_ptr<StoreView> view, ScanRequest request,
                   std::shared_ptr<FindingSink> findings)
    : view_(std::move(view)),
      request_(std::move(request)),
      findings_(std::move(findings)),
      thread_([this] { run(); }) {}

PullScan::~PullScan() {
  queue_.stop();
  thread_.join();
}

void PullScan::run() {
  try {
    const auto summary = view_->scan(request_, queue_, *findings_);
    queue_.end(summary ? std::nullopt : std::optional(summary.error()));
  } catch (const std::exception& e) {
    // Memory that ran out, where something catches it, is told like any other failure.
    queue_.end(fail(ErrorCode::limit, "memory", e.what()).error());
  }
}

}  // namespace varve::output
