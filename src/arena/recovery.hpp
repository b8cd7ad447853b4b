// SPDX-License-Identifier: MIT OR Apache-2.0
// Opening a journal for writing (section 7): where the log ends, whether that may be trusted, and
// what is written back. Deciding comes first and changes nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "arena/walker.hpp"
#include "varve/file_system.hpp"

namespace varve::arena {

// What section 7 step 5 and 6 say about the final segment.
struct TailState {
  enum class Kind : std::uint8_t { marker, zero_header, short_end, torn };
  Kind kind = Kind::zero_header;
  std::uint64_t frames = 0;
  std::uint64_t end = 0;         // write_offset
  std::uint32_t next_seq = 0;    // section 5
  RunEnd bad;                    // the invalid frame, if torn
  std::uint64_t torn_bytes = 0;  // from the bad frame to the last non-zero byte
};

// "end marker", "zero header", "fewer than 16 bytes left", "torn tail".
std::string_view to_text(TailState::Kind kind);

// Walks the final segment. Committed damage is the error corrupt-committed (ErrorCode::damaged),
// whose message names the reason and the proof; a search given up is ErrorCode::limit.
Result<TailState> examine_tail(const SegmentImage& image, const WalkOptions& options);

// The sentence of section 7 for a bad frame: what it is, its reason, the proof.
std::string damage_text(const Damage& damage);

}  // namespace varve::arena
