// SPDX-License-Identifier: MIT OR Apache-2.0
// The format's entry in the registration table: detection, options, filters, opening.
#include <array>
#include <span>
#include <utility>

#include "jss/names.hpp"
#include "jss/view.hpp"

namespace varve::jss {

namespace {

constexpr FilterSpec k_filters[] = {
    {"did", "DID", "only rows of this account", true, "cat export plan follow sql", {}},
    {"collection",
     "NSID",
     "only commits of this collection; NSID.* takes a prefix; markers pass",
     true,
     "cat export plan follow sql",
     {}},
    {"kind", "KIND",
     "only rows of this kind; commit stands for create, update, delete and "
     "create_resync",
     true, "cat export plan follow sql",
     "commit create update delete create_resync identity account sync"},
};

constexpr OptionSpec k_options[] = {
    {"as", "FORM", "print rows as the public streams do", "cat follow", "v1 v2"},
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
};

}  // namespace

const Format& format() {
  static const JssFormat instance;
  return instance;
}

}  // namespace varve::jss
