// SPDX-License-Identifier: MIT OR Apache-2.0
// The format's entry in the registration table.
#include <span>
#include <string>

#include "arena/codec.hpp"
#include "arena/explain_member.hpp"
#include "arena/salvage.hpp"
#include "arena/view.hpp"
#include "arena/writing.hpp"

namespace varve::arena {

namespace {

constexpr FilterSpec k_filters[] = {
    {"id",
     "ID",
     "only transactions or state rows that name this id",
     true,
     "cat state export plan follow sql",
     {}},
};

constexpr OptionSpec k_options[] = {
    {"generation",
     "NAME",
     "read this generation instead of the live one: gen-..., or vectors_data.bin for the segments "
     "in the arena directory itself",
     "info verify cat state get explain stats export plan sql salvage diff",
     {}},
    {"passphrase-file",
     "FILE",
     "decrypt payloads of an encrypted store with the passphrase in FILE (the key derivation costs "
     "are not confirmed by a real store)",
     "verify cat state get explain stats export sql",
     {}},
    {"format-version",
     "N",
     "of the new store: 2 (segments of 1 GiB), 3 (of 64 MiB) or 4 (growing to 1 GiB; the default)",
     "init",
     {}},
    {"bare", "", "an arena alone, without store.json: payloads may be any bytes", "init", {}},
    {"dimensions", "N", "of the store's vectors, 1 to 1000000 (default 4096)", "init", {}},
    {"no-meaning", "", "a store without atoms, composites, triples and rules", "init", {}},
    {"discard-frames-behind-end",
     "",
     "save and clear valid frames behind the end of the log, which an append would overwrite",
     "append recover compact",
     {}},
    {"exit-codes", "SET",
     "exit as the format's original verifier does: 0 ok, 10 recoverable, 20 corrupt, 30 "
     "unsupported",
     "verify", "hms"},
};

// Whether the first bytes of a segment can be the beginning of one.
bool begins_as_segment(const io::Directory& directory, std::string_view name) {
  const auto file = directory.open_file(name, io::OpenMode::read);
  std::byte header[k_header_bytes];
  if (!file) {
    return false;
  }
  const auto n = (*file)->read_at(header, 0);
  return n && *n == k_header_bytes &&
         check_header(decode_header(header), k_large_segment_bytes).kind != UnitKind::invalid;
}

Confidence detect_arena(io::Directory& arena) {
  const auto manifest = read_small_file(arena, k_manifest_name);
  if (manifest && *manifest && (*manifest)->find(k_manifest_magic) != std::string::npos) {
    return Confidence::by_content;
  }
  const auto entries = arena.list();
  if (!entries) {
    return Confidence::none;
  }
  Confidence found = Confidence::none;
  for (const io::DirectoryEntry& entry : *entries) {
    const bool segment =
        entry.identity.type == io::FileType::regular && segment_number(entry.name).has_value();
    const bool generation = entry.identity.type == io::FileType::directory &&
                            entry.name.starts_with(k_generation_prefix);
    if (segment && begins_as_segment(arena, entry.name)) {
      return Confidence::by_content;
    }
    if (segment || generation) {
      found = Confidence::by_name;
    }
  }
  return found;
}

constexpr std::uint64_t k_probe_dimensions = 4096;

class ArenaFormat final : public Format {
 public:
  std::string_view name() const override { return "arena"; }
  std::string_view summary() const override {
    return "transaction journal of the HMS store (vectors_data.bin/seg_*.bin)";
  }
  std::span<const FilterSpec> filters() const override { return k_filters; }
  std::span<const OptionSpec> options() const override { return k_options; }
  bool has_seq() const override { return false; }
  bool has_time() const override { return false; }
  std::string_view key_help() const override {
    return "ID of the state, FRAME number, or @OFFSET (global)";
  }
  std::string_view advice(Verdict verdict) const override;

  Confidence detect(io::FileSystem& files, const std::string& path) const override {
    const auto root = files.open_directory(path);
    if (!root) {
      return Confidence::none;
    }
    const auto arena = (*root)->open_directory(k_arena_directory);
    if (!arena) {
      return detect_arena(**root);
    }
    const Confidence inside = detect_arena(**arena);
    return inside == Confidence::none ? Confidence::by_name : inside;
  }

  Result<std::unique_ptr<StoreView>> open(io::FileSystem& files, const std::string& path,
                                          const OpenOptions& options) const override {
    return ArenaView::open(files, path, options);
  }

  Confidence detect_member(io::FileSystem& files, const std::string& path) const override {
    return arena::detect_member(files, path);
  }
  Result<ScanSummary> explain_member(io::FileSystem& files, const std::string& path,
                                     const ExplainRequest& request, const OpenOptions& options,
                                     ExplainSink& sink, FindingSink& findings) const override {
    return arena::explain_member(files, path, request, options, sink, findings);
  }

  std::optional<ProbeRecord> probe_record(std::uint64_t number,
                                          std::string_view text) const override {
    const std::string quoted = "\"" + std::string(text) + "\"";
    return ProbeRecord{R"({"payload":{"mutations":[{"Atom":{"id":)" + quoted +
                           R"(,"vector":{"dim":4096,"indices":[)" +
                           std::to_string(number % k_probe_dimensions) + "]}}}]}}",
                       Face::state, quoted, "recover compact"};
  }

  Result<WriteReport> init(io::FileSystem& files, const std::string& path,
                           const WriteRequest& request) const override {
    return init_store(files, path, request);
  }
  Result<std::unique_ptr<Appender>> open_appender(io::FileSystem& files, const std::string& path,
                                                  const WriteRequest& request) const override {
    return open_store_appender(files, path, request);
  }
  Result<WriteReport> recover(io::FileSystem& files, const std::string& path,
                              const WriteRequest& request) const override {
    return recover_store(files, path, request);
  }
  Result<WriteReport> compact(io::FileSystem& files, const std::string& path,
                              const WriteRequest& request) const override {
    return compact_store(files, path, request);
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

  std::optional<int> verify_exit_code(
      const VerifyReport& report, std::span<const Finding>,
      const std::map<std::string, std::string>& options) const override {
    const auto set = options.find("exit-codes");
    if (set == options.end() || set->second != "hms") {
      return std::nullopt;
    }
    switch (report.verdict) {
      case Verdict::clean:
        return 0;
      case Verdict::torn:
        return 10;
      case Verdict::damaged:
        return 20;
      case Verdict::unknown:
        return 30;
    }
    return std::nullopt;
  }
};

std::string_view ArenaFormat::advice(Verdict verdict) const {
  switch (verdict) {
    case Verdict::torn:
      return "The format's own engine opens this store and drops the torn tail; `varve recover` "
             "does the same and keeps the dropped bytes aside.";
    case Verdict::damaged:
      return "The format's own engine refuses this store. `varve cat` still prints every frame "
             "that its checks prove.";
    case Verdict::clean:
    case Verdict::unknown:
      break;
  }
  return {};
}

}  // namespace

const Format& format() {
  static const ArenaFormat instance;
  return instance;
}

}  // namespace varve::arena
