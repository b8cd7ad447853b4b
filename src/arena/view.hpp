// SPDX-License-Identifier: MIT OR Apache-2.0
// The arena journal as a store of the model. `format()` is its entry in the registration table.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "arena/payload.hpp"
#include "arena/state.hpp"
#include "arena/store_map.hpp"
#include "arena/walker.hpp"
#include "varve/store.hpp"

namespace varve::arena {

const Format& format();

// Where a frame of the log lies, and the index that `cat` gives it.
struct FramePlace {
  std::uint64_t index = 0;
  std::uint32_t segment = 0;
  std::uint64_t offset = 0;  // in the segment
};

class ArenaView final : public StoreView {
 public:
  static Result<std::unique_ptr<ArenaView>> open(io::FileSystem& files, const std::string& path,
                                                 const OpenOptions& options,
                                                 const std::optional<Geometry>& geometry = {});

  Result<StoreInfo> info() override;
  Result<VerifyReport> verify(const VerifyRequest& request, FindingSink& findings) override;
  const Schema& schema(Face face) const override;
  Result<ScanSummary> scan(const ScanRequest& request, BatchSink& sink,
                           FindingSink& findings) override;
  void render(Face face, const Batch& batch, const RenderOptions& options,
              std::string& out) const override;
  Result<GetResult> get(const std::string& key, const RenderOptions& options,
                        FindingSink& findings) override;
  Result<ScanSummary> explain(const ExplainRequest& request, ExplainSink& sink,
                              FindingSink& findings) override;
  Result<StatsReport> stats(FindingSink& findings) override;
  Result<Json> plan(const ScanRequest& request) override;

  const StoreMap& map() const { return map_; }
  // Waits before a second look at a tail that was just written; 0 switches that off.
  void set_settle_ms(unsigned settle_ms) { settle_ms_ = settle_ms; }

 private:
  ArenaView(io::FileSystem& files, StoreMap map, const OpenOptions& options)
      : files_(files),
        map_(std::move(map)),
        options_(options),
        payloads_(PayloadContext::of(map_.schema)) {}

  WalkOptions walk_options(Policy policy, unsigned threads) const;
  // What makes the format refuse the log before a frame is read; also reported to `findings`.
  Verdict report_structure(FindingSink& findings) const;
  Result<ScanSummary> scan_log(const ScanRequest& request, BatchSink& sink, FindingSink& findings);
  Result<ScanSummary> scan_log_reverse(const ScanRequest& request, BatchSink& sink,
                                       FindingSink& findings);
  Result<void> explain_generations(const ExplainRequest& request, ExplainSink& sink,
                                   FindingSink& findings, ScanSummary& summary,
                                   const std::function<bool(const std::string&)>& wanted);
  Result<ScanSummary> scan_state(const ScanRequest& request, BatchSink& sink,
                                 FindingSink& findings);
  // Folds the log. With `partial` what can be read is folded although the format refuses the log.
  Result<Verdict> fold(LiveState& state, bool partial, unsigned threads, FindingSink& findings);
  static void render_state(const Batch& batch, const RenderOptions& options, std::string& out);
  Result<GetResult> get_frame(std::size_t position, std::uint64_t offset, std::uint64_t index,
                              const RenderOptions& options);
  // Scans the log for the first frame that is wanted.
  Result<std::optional<FramePlace>> find_frame(const std::function<bool(const FramePlace&)>& wanted,
                                               FindingSink& findings);
  Result<GetResult> get_by_index(std::uint64_t index, const RenderOptions& options,
                                 FindingSink& findings);
  Result<GetResult> get_by_id(const std::string& id, FindingSink& findings);

  io::FileSystem& files_;
  StoreMap map_;
  OpenOptions options_;
  PayloadContext payloads_;
  unsigned settle_ms_ = 20;
};

}  // namespace varve::arena
