// SPDX-License-Identifier: MIT OR Apache-2.0
// What lies in a data directory (section 3): names, and the judgement of every entry.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tay/layout.hpp"
#include "varve/file_system.hpp"
#include "varve/tay_refusal.hpp"

namespace varve::tay {

// "00000000000000000007.tay"
std::string segment_name(std::uint64_t id);
// The id of a canonical segment name; nullopt for any other name.
std::optional<std::uint64_t> segment_id_of(std::string_view name);

// ".tay-new-<20 digits>-<nonce>.tmp" and ".tay-store-<nonce>.tmp"; the nonce is 16 bytes.
std::string segment_stage_name(std::uint64_t id, std::span<const std::byte> nonce);
std::string store_stage_name(std::span<const std::byte> nonce);

struct SegmentEntry {
  std::uint64_t id = 0;
  io::FileIdentity identity;
};

// Both directories, each listed completely and judged in order of the raw names.
struct Listing {
  std::vector<io::DirectoryEntry> root;      // sorted by name
  std::vector<io::DirectoryEntry> segments;  // sorted by name; empty if there is no directory
  std::vector<SegmentEntry> canonical;       // sorted by id
  std::vector<std::string> staging;          // paths relative to the data directory
  std::vector<std::string> ignored;
  std::optional<io::FileIdentity> store;  // STORE, if it is a regular file
  std::optional<io::FileIdentity> lock;   // the lock file, likewise
  bool has_segments = false;              // segments/ is there and a directory
  bool v2_root = false;                   // an entry STORE-V2 or CURRENT
  // All that section 3.1 refuses, the first being the one that it names.
  std::vector<Refusal> problems;
};

// Judges the entries of the root; the v2 marker is the last problem noted.
void judge_root(std::vector<io::DirectoryEntry> entries, std::uint64_t entry_limit, Listing& out);
// Judges the entries of segments/, then the ids.
void judge_segments(std::vector<io::DirectoryEntry> entries, std::uint64_t entry_limit,
                    Listing& out);

// Lists and judges. With `stop_early` segments/ is not listed if the root is refused already.
// Errors: only what the file system gives. `segments` receives the open directory, if there is one.
Result<Listing> list_store(const io::Directory& root, std::uint64_t entry_limit, bool stop_early,
                           std::unique_ptr<io::Directory>& segments);

}  // namespace varve::tay
