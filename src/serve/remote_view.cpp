// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/remote_view.hpp"

#include <utility>

#include "jss/snapshot_plan.hpp"
#include "jss/view.hpp"
#include "serve/remote_files.hpp"
#include "serve/remote_scan.hpp"
#include "varve/salvage.hpp"

namespace varve::serve {

namespace {

constexpr unsigned k_most_new_beginnings = 2;  // section 17.5

// Pass on, and remember that something was.
class NotedFindings final : public FindingSink {
 public:
  explicit NotedFindings(FindingSink& to) : to_(to) {}
  void add(Finding finding) override {
    used = true;
    to_.add(std::move(finding));
  }
  bool used = false;

 private:
  FindingSink& to_;
};

class NotedBatches final : public BatchSink {
 public:
  explicit NotedBatches(BatchSink& to) : to_(to) {}
  Result<bool> consume(Batch batch) override {
    used = true;
    return to_.consume(std::move(batch));
  }
  bool used = false;

 private:
  BatchSink& to_;
};

class NotedRows final : public ExplainSink {
 public:
  explicit NotedRows(ExplainSink& to) : to_(to) {}
  bool add(ExplainRow row) override {
    used = true;
    return to_.add(std::move(row));
  }
  bool used = false;

 private:
  ExplainSink& to_;
};

// Runs a call again, from its beginning, if a segment was replaced under it; never once something
// was handed out.
template <class Call, class Used>
auto with_new_beginnings(Call call, Used used) {
  auto result = call();
  for (unsigned i = 0; i < k_most_new_beginnings; ++i) {
    if (result || !is_changed_generation(result.error()) || used()) {
      break;
    }
    result = call();
  }
  return result;
}

class RemoteView final : public StoreView {
 public:
  RemoteView(std::shared_ptr<RemoteArchive> archive, std::string path, OpenOptions options,
             RemoteScanSource source)
      : archive_(archive),
        files_(std::move(archive), options.max_memory_bytes),
        path_(std::move(path)),
        options_(std::move(options)),
        source_(std::move(source)) {
    source_.files = &files_;
  }

  const Schema& schema(Face face) const override { return faces_.schema(face); }
  void render(Face face, const Batch& batch, const RenderOptions& options,
              std::string& out) const override {
    faces_.render(face, batch, options, out);
  }

  Result<StoreInfo> info() override {
    VARVE_ASSIGN(StoreView* const view, inner());
    return with_new_beginnings([&] { return view->info(); }, [] { return false; });
  }

  Result<VerifyReport> verify(const VerifyRequest& request, FindingSink& findings) override {
    VARVE_ASSIGN(StoreView* const view, inner());
    NotedFindings noted(findings);
    return with_new_beginnings([&] { return view->verify(request, noted); },
                               [&] { return noted.used; });
  }

  Result<ScanSummary> scan(const ScanRequest& request, BatchSink& sink,
                           FindingSink& findings) override {
    if (request.face == Face::log) {
      return scan_remote_log(source_, request, sink, findings);
    }
    VARVE_ASSIGN(StoreView* const view, inner());
    NotedFindings noted(findings);
    NotedBatches batches(sink);
    return with_new_beginnings([&] { return view->scan(request, batches, noted); },
                               [&] { return noted.used || batches.used; });
  }

  Result<Json> plan(const ScanRequest& request) override {
    VARVE_ASSIGN(StoreView* const view, inner());
    return with_new_beginnings([&] { return view->plan(request); }, [] { return false; });
  }

  Result<GetResult> get(const std::string& key, const RenderOptions& options,
                        FindingSink& findings) override {
    VARVE_ASSIGN(StoreView* const view, inner());
    NotedFindings noted(findings);
    return with_new_beginnings([&] { return view->get(key, options, noted); },
                               [&] { return noted.used; });
  }

  Result<ScanSummary> explain(const ExplainRequest& request, ExplainSink& sink,
                              FindingSink& findings) override {
    VARVE_ASSIGN(StoreView* const view, inner());
    NotedFindings noted(findings);
    NotedRows rows(sink);
    return with_new_beginnings([&] { return view->explain(request, rows, noted); },
                               [&] { return noted.used || rows.used; });
  }

  Result<StatsReport> stats(FindingSink& findings) override {
    VARVE_ASSIGN(StoreView* const view, inner());
    NotedFindings noted(findings);
    return with_new_beginnings([&] { return view->stats(noted); }, [&] { return noted.used; });
  }

  // The server's own answer, one page.
  Result<Json> snapshot_plan(const ScanRequest& request, std::string_view body) override {
    for (const char* name : {"max-entries", "whole-segment-share"}) {
      if (request.options.contains(name)) {
        return fail(ErrorCode::invalid_argument, name,
                    "--" + std::string(name) + ": of a remote archive the server decides");
      }
    }
    VARVE_ASSIGN(const jss::SnapshotRequest wanted,
                 jss::snapshot_request_of(request.predicate, body));
    VARVE_ASSIGN(const jss::SnapshotPlan plan, archive_->plan(wanted));
    return plan.to_json();
  }

 private:
  // The archive as one on disk is seen; its headers are read when something first needs them.
  Result<StoreView*> inner() {
    if (inner_ == nullptr) {
      VARVE_ASSIGN(inner_,
                   with_new_beginnings([&] { return jss::format().open(files_, path_, options_); },
                                       [] { return false; }));
    }
    return inner_.get();
  }

  std::shared_ptr<RemoteArchive> archive_;
  RemoteFileSystem files_;
  std::string path_;
  OpenOptions options_;
  RemoteScanSource source_;
  // Schemas and rendering, which need no archive.
  jss::View faces_{nullptr, {}};
  std::unique_ptr<StoreView> inner_;
};

Result<RemoteOptions> remote_options(const OpenOptions& options) {
  const auto key_file = options.options.find(k_api_key_file_option);
  RemoteOptions remote;
  VARVE_ASSIGN(remote.api_key,
               read_api_key(key_file == options.options.end() ? "" : key_file->second));
  return remote;
}

std::unexpected<Error> refuse_to_write(const std::string& path) {
  return fail(ErrorCode::unsupported, "not_offered",
              "a remote archive can only be read; `varve mirror` makes a local copy of it", path);
}

class RemoteFormat final : public Format {
 public:
  std::string_view name() const override { return jss::format().name(); }
  std::string_view summary() const override { return jss::format().summary(); }
  std::span<const FilterSpec> filters() const override { return jss::format().filters(); }
  std::span<const OptionSpec> options() const override { return jss::format().options(); }
  bool has_seq() const override { return true; }
  bool has_time() const override { return true; }
  std::string_view key_help() const override { return jss::format().key_help(); }
  std::string_view advice(Verdict verdict) const override { return jss::format().advice(verdict); }

  Confidence detect(io::FileSystem&, const std::string& path) const override {
    return is_remote(path) ? Confidence::by_name : Confidence::none;
  }

  Result<std::unique_ptr<StoreView>> open(io::FileSystem&, const std::string& path,
                                          const OpenOptions& options) const override {
    VARVE_ASSIGN(RemoteOptions remote, remote_options(options));
    return open_remote(path, options, std::move(remote));
  }
  // Of files that open_remote_files() gave.
  Confidence detect_member(io::FileSystem& files, const std::string& path) const override {
    return jss::format().detect_member(files, path);
  }
  Result<ScanSummary> explain_member(io::FileSystem& files, const std::string& path,
                                     const ExplainRequest& request, const OpenOptions& options,
                                     ExplainSink& sink, FindingSink& findings) const override {
    return jss::format().explain_member(files, path, request, options, sink, findings);
  }

  Result<WriteReport> init(io::FileSystem&, const std::string& path,
                           const WriteRequest&) const override {
    return refuse_to_write(path);
  }
  Result<std::unique_ptr<Appender>> open_appender(io::FileSystem&, const std::string& path,
                                                  const WriteRequest&) const override {
    return refuse_to_write(path);
  }
  Result<WriteReport> seal(io::FileSystem&, const std::string& path,
                           const WriteRequest&) const override {
    return refuse_to_write(path);
  }
  Result<WriteReport> recover(io::FileSystem&, const std::string& path,
                              const WriteRequest&) const override {
    return refuse_to_write(path);
  }
  Result<WriteReport> compact(io::FileSystem&, const std::string& path,
                              const WriteRequest&) const override {
    return refuse_to_write(path);
  }
  Result<WriteReport> backup(io::FileSystem&, const std::string& path, const std::string&,
                             const WriteRequest&) const override {
    return refuse_to_write(path);
  }
  Result<SalvageReport> salvage(io::FileSystem&, const std::string& path, const SalvageRequest&,
                                FindingSink&) const override {
    return refuse_to_write(path);
  }
};

}  // namespace

Result<std::unique_ptr<StoreView>> open_remote(const std::string& url, const OpenOptions& options,
                                               RemoteOptions remote) {
  VARVE_ASSIGN(const RemoteAddress address, RemoteAddress::parse(url));
  VARVE_ASSIGN(auto archive, RemoteArchive::connect(address, std::move(remote)));
  RemoteScanSource source;
  source.single = !address.segment.empty();
  if (source.single) {
    // Said now rather than by the first call: the server is not there, or has no such segment.
    VARVE_TRY(archive->probe(address.segment, 1, options.max_memory_bytes));
    source.segments.push_back(address.segment);
  } else {
    VARVE_ASSIGN(const auto segments, archive->list());
    for (const RemoteSegment& segment : segments) {
      source.segments.push_back(segment.name);
    }
    if (segments.empty()) {
      return fail(ErrorCode::not_a_store, "not_a_store", "the archive has no sealed segment yet",
                  url);
    }
  }
  OpenOptions inner = options;
  inner.options.erase(k_api_key_file_option);
  std::string path =
      source.single ? address.archive_url() + "/" + address.segment : address.archive_url();
  return std::make_unique<RemoteView>(std::move(archive), std::move(path), std::move(inner),
                                      std::move(source));
}

Result<std::unique_ptr<io::FileSystem>> open_remote_files(const std::string& url,
                                                          const OpenOptions& options) {
  VARVE_ASSIGN(const RemoteAddress address, RemoteAddress::parse(url));
  VARVE_ASSIGN(RemoteOptions remote, remote_options(options));
  VARVE_ASSIGN(auto archive, RemoteArchive::connect(address, std::move(remote)));
  return std::make_unique<RemoteFileSystem>(std::move(archive), options.max_memory_bytes);
}

const Format& remote_format() {
  static const RemoteFormat instance;
  return instance;
}

}  // namespace varve::serve
