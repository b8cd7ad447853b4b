// SPDX-License-Identifier: MIT OR Apache-2.0
// What the bytes behind the last frame are (section 14.2), and the search for frames behind a hurt
// place.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "jss/block.hpp"
#include "jss/frame_probe.hpp"
#include "jss/segment_file.hpp"
#include "jss/walker.hpp"

namespace varve::jss {

// Decodes single frames of a file where the walk needs proof, into memory that is used again.
class FrameProver {
 public:
  FrameProver(const SegmentFile& file, std::uint64_t cap_bytes)
      : file_(file), cap_bytes_(cap_bytes) {}
  // True if the `frame_bytes` at `offset` are one frame that decodes to a block: block() then
  // holds it until the next call.
  Result<bool> prove(std::uint64_t offset, std::uint64_t frame_bytes);
  const Block& block() const { return block_; }

 private:
  const SegmentFile& file_;
  std::uint64_t cap_bytes_;
  FrameDecoder decoder_;
  base::Bytes frame_;
  Block block_;
};

// The index entry that a frame implies (what a seal would write for it).
IndexEntry implied_entry(const FrameRef& frame, const Block& block);

// True if all bytes of [offset, end) are zero.
Result<bool> all_zero(const SegmentFile& file, std::uint64_t offset, std::uint64_t end);

// True if the bytes at `offset` can be the first index entry of these frames: its offset and
// compressed size. Cheap; used to tell the end of the frames where the header does not.
Result<bool> may_be_footer(WindowReader& reader, std::span<const FrameRef> frames,
                           std::uint64_t offset);

// True if the bytes at `offset` match the block index that the frames imply: every whole entry
// that is present before `end`, at least one.
Result<bool> matches_footer(const SegmentFile& file, std::span<const FrameRef> frames,
                            std::uint64_t offset, std::uint64_t end, FrameProver& prover);

// The first frame that begins behind `offset` and is proven under the policy.
Result<std::optional<FrameRef>> hunt_frame(const SegmentFile& file, std::uint64_t offset,
                                           std::uint64_t end, WalkPolicy policy,
                                           FrameProver& prover);

}  // namespace varve::jss
