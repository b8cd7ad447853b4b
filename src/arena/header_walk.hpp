// SPDX-License-Identifier: MIT OR Apache-2.0
// The frames of a segment by their headers alone: fast, and unproven. For `info`, `verify --quick`
// and for fixing the end of a segment that another process is writing.
#pragma once

#include <cstdint>
#include <optional>

#include "arena/chunk_reader.hpp"

namespace varve::arena {

struct HeaderSummary {
  std::uint64_t frames = 0;
  std::uint64_t raw_bytes = 0;     // payloads after decompression
  std::uint64_t stored_bytes = 0;  // data as stored, without headers
  RunEnd end;                      // never of kind frame
};

// Steps 1 to 6 of section 3.2 from the start to the first thing that is not a frame.
Result<HeaderSummary> walk_headers(const SegmentImage& image);
// How many frames begin before `offset`; nullopt where damage hides it, or nothing begins there.
Result<std::optional<std::uint64_t>> frames_before(const SegmentImage& image, std::uint64_t offset);

}  // namespace varve::arena
