// SPDX-License-Identifier: MIT OR Apache-2.0
// What is where in a store, found before any frame is read: the arena, the live generation, the
// manifests, the segments (sections 1, 2 and 7 steps 1 to 3). Reads only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arena/manifest.hpp"
#include "arena/segment_image.hpp"
#include "varve/file_system.hpp"
#include "varve/finding.hpp"

namespace varve::arena {

struct SegmentFile {
  std::uint32_t number = 0;
  std::string name;
  std::uint64_t file_bytes = 0;  // when it was listed: the horizon of every reader
  std::uint64_t allocated_bytes = 0;
};

struct Generation {
  std::string name;
  bool live = false;
};

struct MapOptions {
  // Read this generation instead of the live one: a "gen-" name, or "vectors_data.bin" for the
  // arena directory itself. Empty: the live one.
  std::string generation;
  // Replaces the geometry of its version: for tests with small segments.
  std::optional<Geometry> geometry;
};

struct StoreMap {
  std::string path;                      // as the caller gave it
  std::unique_ptr<io::Directory> store;  // holds store.json and the lock
  std::unique_ptr<io::Directory> arena;
  std::unique_ptr<io::Directory> live;  // holds the segments; null if `refusal` says why
  bool store_is_arena = false;          // a bare arena: `store` and `arena` are one directory
  std::string arena_prefix;             // from `path` to the arena: "vectors_data.bin/" or ""
  std::string live_prefix;              // from `path` to the segments
  std::string live_name;                // "vectors_data.bin", or that of the generation
  std::string live_sub;                 // "" or the generation's name: from `arena` to `live`

  std::optional<StoreSchema> schema;
  bool schema_present = false;
  std::optional<Manifest> manifest;
  Geometry geometry;
  bool manifest_lost = false;  // no manifest, and the segments do not look like version 1
  bool pointer_present = false;
  std::string pointer;                  // what CURRENT holds, if it is there
  std::vector<Generation> generations;  // the "gen-" directories, sorted
  bool arena_has_segments = false;      // seg_*.bin in the arena directory itself
  std::vector<std::string> abandoned;   // ".compact-*" directories in the store
  bool document_checkpoint = false;
  std::vector<SegmentFile> segments;  // sorted by number
  std::uint64_t other_bytes = 0;      // of the manifests and the pointer

  // What is wrong or odd so far, in the order of the checks.
  std::vector<Finding> findings;
  // The first thing that makes the format refuse to open the store (section 9), if any.
  std::optional<Error> refusal;

  bool fresh() const { return segments.empty() && generations.empty() && !pointer_present; }
  bool is_final(std::size_t position) const { return position + 1 == segments.size(); }
  std::string segment_path(const SegmentFile& segment) const { return live_prefix + segment.name; }
  Result<std::unique_ptr<SegmentImage>> open_segment(std::size_t position) const;
};

// Fails only where there is no directory, or the system refuses.
Result<StoreMap> map_store(io::FileSystem& files, const std::string& path,
                           const MapOptions& options = {});

// Reads a whole small file; nullopt if it does not exist. Larger ones than
// k_max_small_file_bytes, and what is not a regular file, are errors.
Result<std::optional<std::string>> read_small_file(const io::Directory& directory,
                                                   std::string_view name);

// True for errors that mean "no such file".
bool is_missing(const Error& error);

}  // namespace varve::arena
