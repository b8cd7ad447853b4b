// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/segment_directory.hpp"

#include <algorithm>
#include <cerrno>

#include "jss/names.hpp"

namespace varve::jss {

namespace {
constexpr std::string_view k_segments_directory = "segments";
}  // namespace

Result<StorePlace> open_place(io::FileSystem& files, const std::string& path) {
  StorePlace place;
  VARVE_ASSIGN(const io::FileIdentity identity, files.identity_of(path));
  if (identity.type != io::FileType::directory) {
    const io::SplitPath split = io::split_path(path);
    VARVE_ASSIGN(place.directory, files.open_directory(split.parent));
    place.single_file = split.name;
    return place;
  }
  VARVE_ASSIGN(place.directory, files.open_directory(path));
  VARVE_ASSIGN(const auto entries, place.directory->list());
  const bool here = std::ranges::any_of(entries, [](const io::DirectoryEntry& entry) {
    return segment_number(entry.name).has_value();
  });
  const bool below = std::ranges::any_of(entries, [](const io::DirectoryEntry& entry) {
    return entry.name == k_segments_directory && entry.identity.type == io::FileType::directory;
  });
  if (!here && below) {
    VARVE_ASSIGN(place.directory, place.directory->open_directory(k_segments_directory));
    place.prefix = std::string(k_segments_directory) + "/";
  }
  return place;
}

Result<std::vector<NumberedSegment>> list_segments(const io::Directory& directory) {
  std::vector<NumberedSegment> out;
  VARVE_ASSIGN(const auto entries, directory.list());
  for (const io::DirectoryEntry& entry : entries) {
    const auto number = segment_number(entry.name);
    if (number && entry.identity.type == io::FileType::regular) {
      out.push_back({*number, entry.name, entry.identity});
    }
  }
  std::ranges::sort(out, {}, &NumberedSegment::number);
  return out;
}

Result<std::vector<std::string>> remove_temporaries(io::Directory& directory, bool dry_run) {
  std::vector<std::string> out;
  VARVE_ASSIGN(const auto entries, directory.list());
  for (const io::DirectoryEntry& entry : entries) {
    if (!is_temporary_name(entry.name) || entry.identity.type != io::FileType::regular) {
      continue;
    }
    auto file = directory.open_file(entry.name, io::OpenMode::read);
    if (!file && file.error().system_errno == ENOENT) {
      continue;
    }
    if (file && !(*file)->lock(io::LockKind::exclusive)) {
      continue;  // its writer is alive
    }
    if (!dry_run) {
      if (auto removed = directory.remove_file(entry.name);
          !removed && removed.error().system_errno != ENOENT) {
        return std::unexpected(std::move(removed).error());
      }
    }
    out.push_back(entry.name);
  }
  std::ranges::sort(out);
  if (!out.empty() && !dry_run) {
    VARVE_TRY(directory.sync());
  }
  return out;
}

}  // namespace varve::jss
