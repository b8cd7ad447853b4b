// SPDX-License-Identifier: MIT OR Apache-2.0
// What lies in a data directory at one moment, for readers that take no lock. What a writer adds
// later is behind the horizon.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tay/log_pass.hpp"
#include "varve/file_system.hpp"
#include "varve/finding.hpp"
#include "varve/tay_options.hpp"

namespace varve::tay {

struct V2State;  // v2_root.hpp

struct Snapshot {
  int version = 1;  // of the store: 1, or 2 for the root of a Store v2
  std::string path;
  std::unique_ptr<io::Directory> root;
  std::unique_ptr<io::Directory> segments_directory;  // null if there is none
  std::string segments_prefix = "segments/";          // of file names in findings
  Listing listing;
  std::vector<Segment> segments;  // ascending ids; not walked yet
  // STORE and the other small files beside the segments, as they stand (at most one byte more than
  // they may have), by their names relative to the data directory.
  struct Marker {
    std::string name;
    io::FileIdentity identity;
    Bytes bytes;
  };
  std::vector<Marker> markers;
  const Marker* marker(std::string_view name) const;
  std::optional<Id> store_id;
  // All that is wrong before any segment is opened, in the order of the specification.
  std::vector<Refusal> problems;
  std::shared_ptr<const V2State> v2;  // of a Store v2
  bool lock_missing = false;
  bool lock_held = false;  // by another process, as far as can be told

  // A bare first header and no STORE (section 9): an initialization that was cut short.
  bool unfinished_initialization() const;
  std::uint64_t segment_bytes() const;
  // Beside the segments: STORE and its like, which have a check of their own.
  std::uint64_t marker_units() const { return markers.size(); }
  std::uint64_t marker_bytes() const;
  std::uint64_t files() const { return segments.size() + markers.size() + (lock_missing ? 0 : 1); }
};

// Opens and lists. Errors: the path is no directory, or what the file system gives.
Result<Snapshot> take_snapshot(io::FileSystem& files, const std::string& path,
                               std::uint64_t entry_limit);

// Reads a small file whole, but at most one byte more than it may have, into the markers.
Result<void> read_marker(const io::Directory& directory, std::string_view name,
                         std::string_view shown_name, std::uint64_t most_bytes, Snapshot& out);

// The identities of all segments but the highest, once more: while a listing was made, a writer may
// have sealed what was the highest.
Result<void> refresh_earlier(const io::Directory& directory, std::vector<Segment>& segments);

// A missing or held lock is a warning, staging and unrelated files are notes.
void tell_surroundings(const Snapshot& snapshot, bool before_errors, FindingSink& findings);

}  // namespace varve::tay
