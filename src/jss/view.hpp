// SPDX-License-Identifier: MIT OR Apache-2.0
// The jss format as the store model sees it.
#pragma once

#include <memory>
#include <string>

#include "jss/archive.hpp"
#include "varve/store.hpp"

namespace varve::jss {

// The format's entry for the registration table.
const Format& format();

class View final : public StoreView {
 public:
  View(std::unique_ptr<Archive> archive, OpenOptions options);

  Result<StoreInfo> info() override;
  Result<VerifyReport> verify(const VerifyRequest& request, FindingSink& findings) override;
  const Schema& schema(Face face) const override;
  Result<ScanSummary> scan(const ScanRequest& request, BatchSink& sink,
                           FindingSink& findings) override;
  void render(Face face, const Batch& batch, const RenderOptions& options,
              std::string& out) const override;
  Result<Json> plan(const ScanRequest& request) override;
  Result<GetResult> get(const std::string& key, const RenderOptions& options,
                        FindingSink& findings) override;
  Result<ScanSummary> explain(const ExplainRequest& request, ExplainSink& sink,
                              FindingSink& findings) override;
  Result<StatsReport> stats(FindingSink& findings) override;
  Result<Json> snapshot_plan(const ScanRequest& request, std::string_view body) override;

  const Archive& archive() const { return *archive_; }

 private:
  Result<ScanSummary> scan_state(const ScanRequest& request, BatchSink& sink,
                                 FindingSink& findings);

  std::unique_ptr<Archive> archive_;
  OpenOptions options_;
};

}  // namespace varve::jss
