// SPDX-License-Identifier: MIT OR Apache-2.0
// The format's entry for the registration table.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "tay/explain_member.hpp"
#include "tay/view.hpp"
#include "tay/writing.hpp"

namespace varve::tay {

namespace {

bool begins_with(const io::Directory& directory, std::string_view name, std::string_view magic) {
  const auto file = directory.open_file(name, io::OpenMode::read);
  if (!file) {
    return false;
  }
  std::byte bytes[k_magic_bytes];
  const auto got = (*file)->read_at(bytes, 0);
  return got && *got == sizeof bytes && base::as_text(bytes) == magic;
}

class TayFormat final : public Format {
 public:
  std::string_view name() const override { return "tay"; }
  std::string_view summary() const override {
    return "job store: a directory with STORE and segments/N.tay";
  }
  std::span<const FilterSpec> filters() const override { return filter_specs(); }
  std::span<const OptionSpec> options() const override { return option_specs(); }
  bool has_seq() const override { return true; }
  bool has_time() const override { return true; }
  std::string_view key_help() const override {
    return "a job's ID (32 hex digits), SEQ, @SEGMENT:OFFSET or @OFFSET";
  }
  std::string_view advice(Verdict verdict) const override {
    switch (verdict) {
      case Verdict::torn:
        return "The format's own engine refuses a store with an unfinished tail: keep it as it is. "
               "`varve cat` prints every whole record, `varve salvage` makes a store of them.";
      case Verdict::damaged:
        return "Keep the store as it is; nothing of it is to be cut, renamed or made anew. "
               "`varve cat` prints every record that can be proven.";
      default:
        return {};
    }
  }

  Confidence detect(io::FileSystem& files, const std::string& path) const override {
    const auto root = files.open_directory(path);
    if (!root) {
      return Confidence::none;
    }
    if (begins_with(**root, k_store_name, k_store_magic) ||
        begins_with(**root, k_store_v2_name, k_store_v2_magic) ||
        begins_with(**root, k_current_name, k_current_magic)) {
      return Confidence::by_content;
    }
    const auto segments = (*root)->open_directory(k_segments_name);
    if (segments && begins_with(**segments, segment_name(1), k_header_magic)) {
      return Confidence::by_content;
    }
    return named_like_a_store(**root, segments ? segments->get() : nullptr) ? Confidence::by_name
                                                                            : Confidence::none;
  }

  Result<std::unique_ptr<StoreView>> open(io::FileSystem& files, const std::string& path,
                                          const OpenOptions& options) const override {
    VARVE_ASSIGN(const ReadBudgets budgets, read_budgets(options.options));
    VARVE_ASSIGN(Snapshot snapshot, take_snapshot(files, path, budgets.budgets.directory_entries));
    return std::make_unique<View>(std::move(snapshot), options, budgets);
  }

  Confidence detect_member(io::FileSystem& files, const std::string& path) const override {
    return tay::detect_member(files, path);
  }
  Result<ScanSummary> explain_member(io::FileSystem& files, const std::string& path,
                                     const ExplainRequest& request, const OpenOptions& options,
                                     ExplainSink& sink, FindingSink& findings) const override {
    return tay::explain_member(files, path, request, options.threads, sink, findings);
  }

  std::optional<ProbeRecord> probe_record(std::uint64_t number,
                                          std::string_view text) const override {
    const std::string shows = R"({"text":")" + std::string(text) + "\"}";
    return ProbeRecord{
        R"({"type":"inserted","schema":1,"event":{"at":1000,"definition":{"args":)" + shows +
            R"(,"definition_version":1,"max_attempts":1,"queue_key":"probe","retry_policy":)"
            R"({"base_ms":1000,"cap_ms":60000,"jitter_divisor":4,"version":1},"scheduled_at":null,)"
            R"("timeout_ms":30000,"worker_key":"probe"},"eligible_at":1000,"expected_revision":0,)"
            R"("job_id":")" +
            fmt::format("{:032x}", number + 1) + "\"}}",
        Face::log, shows, "recover seal"};
  }

  Result<WriteReport> init(io::FileSystem& files, const std::string& path,
                           const WriteRequest& request) const override {
    return init_store(files, path, request);
  }
  Result<std::unique_ptr<Appender>> open_appender(io::FileSystem& files, const std::string& path,
                                                  const WriteRequest& request) const override {
    return open_store_appender(files, path, request);
  }
  Result<WriteReport> seal(io::FileSystem& files, const std::string& path,
                           const WriteRequest& request) const override {
    return seal_store(files, path, request);
  }
  Result<WriteReport> recover(io::FileSystem& files, const std::string& path,
                              const WriteRequest& request) const override {
    return recover_store(files, path, request);
  }
  Result<WriteReport> backup(io::FileSystem& files, const std::string& path,
                             const std::string& target,
                             const WriteRequest& request) const override {
    return backup_store(files, path, target, request);
  }
  Result<SalvageReport> salvage(io::FileSystem& files, const std::string& path,
                                const SalvageRequest& request,
                                FindingSink& findings) const override {
    return salvage_store(files, path, request, findings);
  }

 private:
  static bool named_like_a_store(const io::Directory& root, const io::Directory* segments) {
    if (root.identity_of(k_lock_name)) {
      return true;
    }
    const auto listed =
        segments != nullptr ? segments->list() : Result<std::vector<io::DirectoryEntry>>();
    return listed && std::ranges::any_of(*listed, [](const io::DirectoryEntry& entry) {
             return segment_id_of(entry.name).has_value();
           });
  }
};

}  // namespace

const Format& format() {
  static const TayFormat entry;
  return entry;
}

}  // namespace varve::tay
