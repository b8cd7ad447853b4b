// SPDX-License-Identifier: MIT OR Apache-2.0
// Where a writer finds its files: the directory of a store, and the numbered segments in it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "varve/file_system.hpp"

namespace varve::jss {

struct NumberedSegment {
  std::uint64_t number = 0;
  std::string name;
  io::FileIdentity identity;
};

// A store as a writer opens it.
struct StorePlace {
  std::unique_ptr<io::Directory> directory;
  // Set for a store of one file: its name in the directory.
  std::optional<std::string> single_file;
  // Where the directory lies below the store's path: "segments/" or empty.
  std::string prefix;

  bool is_archive() const { return !single_file.has_value(); }
};

// Opens the directory of an existing store. A data directory of the reference, which keeps its
// segments one level down, is understood.
Result<StorePlace> open_place(io::FileSystem& files, const std::string& path);

// The segments of a directory in order of number. Other names, and names of other than regular
// files, are left out.
Result<std::vector<NumberedSegment>> list_segments(const io::Directory& directory);

// Removes what rewrites and creations left behind when they were interrupted: "<segment>.tmp" that
// no writer holds. Gives the names removed; with `dry_run` those that would be.
Result<std::vector<std::string>> remove_temporaries(io::Directory& directory, bool dry_run);

}  // namespace varve::jss
