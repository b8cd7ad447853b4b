// SPDX-License-Identifier: MIT OR Apache-2.0
// Defaults for what a format leaves out.
#include "varve/store.hpp"

#include <string>

#include "varve/salvage.hpp"

namespace varve {

namespace {

std::unexpected<Error> not_offered(std::string_view what) {
  return fail(ErrorCode::unsupported, "not_offered",
              "this format does not offer " + std::string(what));
}

}  // namespace

int Schema::find(std::string_view name) const {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == name) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

Result<Json> StoreView::plan(const ScanRequest&) { return not_offered("a read plan"); }

Result<GetResult> StoreView::get(const std::string&, const RenderOptions&, FindingSink&) {
  return not_offered("`get`");
}

Result<ScanSummary> StoreView::explain(const ExplainRequest&, ExplainSink&, FindingSink&) {
  return not_offered("`explain`");
}

Result<StatsReport> StoreView::stats(FindingSink&) { return not_offered("`stats`"); }

Result<Json> StoreView::snapshot_plan(const ScanRequest&, std::string_view) {
  return not_offered("`plan`");
}

Confidence Format::detect_member(io::FileSystem& files, const std::string& path) const {
  return detect(files, path);
}

Result<ScanSummary> Format::explain_member(io::FileSystem& files, const std::string& path,
                                           const ExplainRequest& request,
                                           const OpenOptions& options, ExplainSink& sink,
                                           FindingSink& findings) const {
  VARVE_ASSIGN(const auto view, open(files, path, options));
  ExplainRequest alone = request;
  alone.file.clear();
  return view->explain(alone, sink, findings);
}

std::string_view Format::advice(Verdict) const { return {}; }

std::optional<int> Format::verify_exit_code(const VerifyReport&, std::span<const Finding>,
                                            const std::map<std::string, std::string>&) const {
  return std::nullopt;
}

std::optional<ProbeRecord> Format::probe_record(std::uint64_t, std::string_view) const {
  return std::nullopt;
}

Result<WriteReport> Format::init(io::FileSystem&, const std::string&, const WriteRequest&) const {
  return not_offered("`init`");
}

Result<std::unique_ptr<Appender>> Format::open_appender(io::FileSystem&, const std::string&,
                                                        const WriteRequest&) const {
  return not_offered("`append`");
}

Result<WriteReport> Format::seal(io::FileSystem&, const std::string&, const WriteRequest&) const {
  return not_offered("`seal`");
}

Result<WriteReport> Format::recover(io::FileSystem&, const std::string&,
                                    const WriteRequest&) const {
  return not_offered("`recover`");
}

Result<SalvageReport> Format::salvage(io::FileSystem&, const std::string&, const SalvageRequest&,
                                      FindingSink&) const {
  return not_offered("`salvage`");
}

Result<WriteReport> Format::compact(io::FileSystem&, const std::string&,
                                    const WriteRequest&) const {
  return not_offered("`compact`");
}

Result<WriteReport> Format::backup(io::FileSystem&, const std::string&, const std::string&,
                                   const WriteRequest&) const {
  return not_offered("`backup`");
}

}  // namespace varve
