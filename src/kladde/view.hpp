// SPDX-License-Identifier: MIT OR Apache-2.0
// The kladde format as the store model sees it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "kladde/reader.hpp"
#include "varve/store.hpp"

namespace varve::kladde {

// The format's entry in the registration table.
const Format& format();

// What the format's own options say.
Result<Dialect> dialect_option(const std::map<std::string, std::string>& options);
Result<Generation> generation_option(const std::map<std::string, std::string>& options);

class View final : public StoreView {
 public:
  static Result<std::unique_ptr<View>> open(io::FileSystem& files, const std::string& path,
                                            const OpenOptions& options);

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

  // Has verify keep the world it looked at, so that a pass behind it need neither load it nor hash
  // its pages again.
  void keep_world() { keeps_world_ = true; }
  // The world of the last verify, if it hashed the data pages and the address table held whole.
  std::optional<World> take_world() { return std::exchange(kept_world_, std::nullopt); }
  const io::File& file() const { return *file_; }

 private:
  View(std::unique_ptr<io::File> file, std::string path, OpenOptions options, Dialect dialect,
       Generation generation)
      : file_(std::move(file)),
        path_(std::move(path)),
        options_(std::move(options)),
        dialect_(dialect),
        generation_(generation) {}

  LoadRequest load_request(bool check_data, unsigned threads = 0) const;
  std::size_t max_pieces() const;
  // Loads one world; a refusal says so if the other dialect would read the file.
  Result<std::optional<World>> load(const LoadRequest& request, const Policy& policy) const;
  // " (it parses as dialect b: --dialect b)", or nothing.
  std::string dialect_hint() const;
  Result<Json> get_allocation(const World& world, const State& state, Id id,
                              const RenderOptions& options, std::string& bytes) const;
  Result<GetResult> get_root(const World& world, const State& state,
                             const RenderOptions& options) const;
  // One look each, whatever a writer does meanwhile (live.hpp).
  Result<StoreInfo> info_once();
  Result<VerifyReport> verify_once(const VerifyRequest& request, FindingSink& findings);
  Result<Json> plan_once(const ScanRequest& request);
  Result<GetResult> get_once(const std::string& key, const RenderOptions& options);
  Result<ScanSummary> explain_once(const ExplainRequest& request, ExplainSink& sink,
                                   FindingSink& findings);
  Result<StatsReport> stats_once(FindingSink& findings);
  Result<ScanSummary> scan_log(const ScanRequest& request, BatchSink& sink, FindingSink& findings);
  Result<ScanSummary> scan_state(const ScanRequest& request, BatchSink& sink,
                                 FindingSink& findings);

  std::unique_ptr<io::File> file_;
  std::string path_;
  OpenOptions options_;
  Dialect dialect_;
  Generation generation_;
  bool keeps_world_ = false;
  std::optional<World> kept_world_;
};

// A finding that changes no verdict.
Finding aside(Severity severity, const char* code, std::uint64_t offset, std::string message);

}  // namespace varve::kladde
