// SPDX-License-Identifier: MIT OR Apache-2.0
// The tay format as the store model sees it.
#pragma once

#include <string>

#include "tay/examine.hpp"
#include "tay/format_options.hpp"
#include "tay/snapshot.hpp"
#include "varve/store.hpp"

namespace varve::tay {

// The format's entry for the registration table.
const Format& format();

class View final : public StoreView {
 public:
  View(Snapshot snapshot, OpenOptions options, ReadBudgets budgets);

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

 private:
  ExamineRequest examine_request(unsigned threads) const;
  Result<GetResult> get_job(const std::string& key, const RenderOptions& options,
                            FindingSink& findings);
  // The sequence of the record that holds a byte of a segment, if one is proven.
  Result<std::optional<std::uint64_t>> sequence_at(std::uint64_t segment_id, std::uint64_t offset);

  Snapshot snapshot_;
  OpenOptions options_;
  ReadBudgets budgets_;
};

}  // namespace varve::tay
