// SPDX-License-Identifier: MIT OR Apache-2.0
// Small files that appear whole or not at all: a segment that is only a header, and STORE
// (sections 9 and 11).
#pragma once

#include <string>
#include <string_view>

#include "tay/objects.hpp"
#include "varve/file_system.hpp"

namespace varve::tay {

// A new segment under its canonical name: staged, written, read back, synced, renamed without
// replacing, the directory synced (R3 to R6). A stage that a failure leaves is never removed.
Result<void> make_segment(io::Directory& segments, const SegmentHeader& header,
                          io::Environment& environment);
// STORE, likewise.
Result<void> make_store_marker(io::Directory& root, const Id& store_id,
                               io::Environment& environment);

// Syncs a file through a descriptor that cannot write.
Result<void> sync_file(const io::Directory& directory, std::string_view name);

// Syncs every directory above `path` that may be opened, the nearest first.
Result<void> sync_ancestors(io::FileSystem& files, const std::string& path);

}  // namespace varve::tay
