// SPDX-License-Identifier: MIT OR Apache-2.0
// The format's entry in the registration table: detection, options, filters, opening.
#include <array>
#include <span>
#include <utility>

#include "jss/names.hpp"
#include "jss/view.hpp"
#include "jss/writing.hpp"

namespace varve::jss {

namespace {

constexpr FilterSpec k_filters[] = {
    {"did", "DID", "only rows of this account", true, "cat state export plan follow sql", {}},
    {"collection",
     "NSID",
     "only commits of this collection; NSID.* takes a prefix; markers pass",
     true,
     "cat state export plan follow sql",
     {}},
    {"kind", "KIND",
     "only rows of this kind; commit stands for create, update, delete and "
     "create_resync",
     true, "cat state export plan follow sql",
     "commit create update delete create_resync identity account sync"},
};

constexpr OptionSpec k_options[] = {
    {"as", "FORM", "print rows as the public streams do", "cat follow", "v1 v2"},
    {"block-rows", "N", "rows of a block, 1 to 262144 (default 4096)", "append", {}},
    {"rotation-bytes",
     "N",
     "bytes of frames after which an archive's segment is sealed and the next one begun (default "
     "268435456)",
     "append",
     {}},
    {"max-entries", "N", "entries of a page at most; 0: no limit (default 100000)", "plan", {}},
    {"whole-segment-share",
     "X",
     "name a whole segment if this share of its blocks is wanted (default 0.75)",
     "plan",
     {}},
    {"full", "", "fold the whole archive, whatever the last pass has noted", "compact", {}},
    {"watermark", "N", "fold only what is above this seq", "compact", {}},
    {"max-tombstones",
     "N",
     "that a pass holds in memory at a time (default 4194304)",
     "compact",
     {}},
    {"next-seq", "N", "the least number that the next row may get", "append", {}},
};

// True if the file begins with the magic. Files that cannot be read answer no.
bool has_magic(const Result<std::unique_ptr<io::File>>& file) {
  if (!file) {
    return false;
  }
  std::array<std::byte, k_magic.size()> start;
  const auto n = (*file)->read_at(start, 0);
  return n && *n == start.size() && base::as_text(start) == k_magic;
}

Confidence detect_directory(io::Directory& directory, bool look_below) {
  const auto entries = directory.list();
  if (!entries) {
    return Confidence::none;
  }
  Confidence found = Confidence::none;
  for (const io::DirectoryEntry& entry : *entries) {
    if (entry.identity.type == io::FileType::regular && segment_number(entry.name)) {
      found = Confidence::by_name;
      if (has_magic(directory.open_file(entry.name, io::OpenMode::read))) {
        return Confidence::by_content;
      }
    }
  }
  if (found == Confidence::none && look_below) {
    const auto below = directory.open_directory("segments");
    return below ? detect_directory(**below, false) : Confidence::none;
  }
  return found;
}

class JssFormat final : public Format {
 public:
  std::string_view name() const override { return "jss"; }
  std::string_view summary() const override {
    return "event segments of an AT Protocol archive (seg_*.jss)";
  }
  std::span<const FilterSpec> filters() const override { return k_filters; }
  std::span<const OptionSpec> options() const override { return k_options; }
  bool has_seq() const override { return true; }
  bool has_time() const override { return true; }
  std::string_view key_help() const override { return "SEQ, at://DID/COLLECTION/RKEY or @OFFSET"; }

  Confidence detect(io::FileSystem& files, const std::string& path) const override {
    const auto identity = files.identity_of(path);
    if (!identity) {
      return Confidence::none;
    }
    if (identity->type == io::FileType::directory) {
      const auto directory = files.open_directory(path);
      return directory ? detect_directory(**directory, true) : Confidence::none;
    }
    if (identity->type != io::FileType::regular) {
      return Confidence::none;
    }
    if (has_magic(files.open_file(path, io::OpenMode::read))) {
      return Confidence::by_content;
    }
    return path.ends_with(k_name_suffix) ? Confidence::by_name : Confidence::none;
  }

  Result<std::unique_ptr<StoreView>> open(io::FileSystem& files, const std::string& path,
                                          const OpenOptions& options) const override {
    VARVE_ASSIGN(auto archive, Archive::open(files, path));
    return std::make_unique<View>(std::move(archive), options);
  }

  std::optional<ProbeRecord> probe_record(std::uint64_t number,
                                          std::string_view text) const override {
    const std::string shows = R"("record":{"text":")" + std::string(text) + "\"}";
    return ProbeRecord{R"({"kind":"create","did":"did:plc:aaaaaaaaaaaaaaaaaaaaaaaa",)"
                       R"("collection":"org.example.probe","rkey":")" +
                           std::to_string(number) + "\"," + shows + "}",
                       Face::log, shows};
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
};

}  // namespace

const Format& format() {
  static const JssFormat instance;
  return instance;
}

}  // namespace varve::jss
