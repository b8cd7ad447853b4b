// SPDX-License-Identifier: MIT OR Apache-2.0
// How far an archive has been compacted, noted in a small file beside its segments. Other readers
// of the format ignore names that are no segment's. Without the note, or with one that is not
// understood, everything is folded again, which is always right.
#pragma once

#include <cstdint>

#include "varve/file_system.hpp"
#include "varve/result.hpp"

namespace varve::jss {

inline constexpr std::string_view k_compaction_note_name = "varve-compaction.json";

// The watermark of the last pass; 0 if there is none.
Result<std::uint64_t> noted_watermark(const io::Directory& directory);
// Replaces the note, durably.
Result<void> note_compaction(io::Directory& directory, std::uint64_t watermark);

}  // namespace varve::jss
