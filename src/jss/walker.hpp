// SPDX-License-Identifier: MIT OR Apache-2.0
// Where the frames of a segment are. The one place that finds units in a file: scan, verify,
// explain, info, recovery and salvage all ask it. It reads prefixes and frame headers, and decodes
// a frame only where two witnesses (the length prefix and the frame's own structure) disagree.
//
// A sealed segment whose footer is trusted is walked by its block index. Every other one (active,
// or with a footer that fails a check) is walked by the length prefixes.
#pragma once

#include <cstdint>
#include <vector>

#include "jss/footer.hpp"
#include "jss/segment_file.hpp"

namespace varve::jss {

enum class WalkPolicy : std::uint8_t {
  strict,   // ends at the first place that is no frame
  report,   // goes on at the next frame whose prefix, structure and content agree
  salvage,  // also at one without a right prefix, if its content checksum and rows hold
};

struct FrameRef {
  std::uint64_t offset = 0;       // of the length prefix
  std::uint64_t frame_bytes = 0;  // of the zstd frame behind it
  // The stored prefix. Differs from frame_bytes where the frame's own structure and content say
  // otherwise; a walk by the index does not look at it.
  std::uint64_t prefix = 0;

  bool prefix_differs() const { return prefix != frame_bytes; }
  std::uint64_t end() const { return offset + k_length_prefix_bytes + frame_bytes; }
};

// Bytes between frames that no frame accounts for although one must have been there.
struct WalkGap {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::size_t before_frame = 0;  // ordinal of the frame that follows; frames.size() if none does
};

// How the frames of an active segment end (section 14.2).
enum class TailState : std::uint8_t {
  whole,            // with the last frame
  torn,             // in an incomplete frame: may be cut
  zero,             // in zeros, or a prefix and zeros: may be cut
  orphaned_footer,  // in the footer of a seal that was interrupted: may be cut or completed
  unreadable,       // in bytes that are none of these: damage, nothing may be cut
};

struct SegmentWalk {
  bool by_index = false;
  std::vector<FrameRef> frames;
  std::vector<WalkGap> gaps;
  TailState tail = TailState::whole;
  // Where the last frame ends; the tail, if any, begins here.
  std::uint64_t frames_end = k_first_frame_offset;
  // Where frames may be: the start of the footer, or the end of the file.
  std::uint64_t region_end = k_first_frame_offset;
  bool too_many = false;  // more than 2^20 frames: the rest was not looked at
};

struct WalkOptions {
  WalkPolicy policy = WalkPolicy::report;
  std::uint64_t max_memory_bytes = std::uint64_t{1} << 30;
  // Where a frame is known to begin: the walk begins there. Not for walks by the index.
  std::uint64_t from = k_first_frame_offset;
  // The file is being written: the walk ends quietly, as if whole, where the next frame is not
  // there yet. Whoever follows looks again later.
  bool live = false;
};

// `footer`: of a sealed segment, as far as it could be read; null for others.
Result<SegmentWalk> walk_segment(const SegmentFile& file, const SegmentHead& head,
                                 const Footer* footer, const WalkOptions& options);

// The finding for what a walk met, at each of its places.
Finding gap_finding(const SegmentFile& file, const WalkGap& gap);
Finding prefix_finding(const SegmentFile& file, const FrameRef& frame, std::uint64_t index);
// For a tail that is not whole.
Finding tail_finding(const SegmentFile& file, const SegmentWalk& walk);
Finding too_many_finding(const SegmentFile& file, const SegmentWalk& walk);

}  // namespace varve::jss
