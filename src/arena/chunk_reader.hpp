// SPDX-License-Identifier: MIT OR Apache-2.0
// Cuts a run of frames into chunks by their headers alone, so that the frames of several chunks can
// be checked side by side. The lengths are unproven until the frames before them are: whoever uses
// a chunk throws away what follows the first bad frame.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "arena/codec.hpp"
#include "arena/segment_image.hpp"
#include "base/compression.hpp"

namespace varve::arena {

struct PlannedFrame {
  std::uint64_t offset = 0;  // in the segment
  FrameHeader header;
};

// Where a run of frames ends and what stands there. `frame` means that the frame at `offset` is
// larger than the memory limit allows: it was not checked.
struct RunEnd {
  UnitKind kind = UnitKind::short_end;
  std::uint64_t offset = 0;
  FrameHeader header;
  Fault fault;           // if kind is invalid; fault.offset counts from the header
  bool stopped = false;  // the consumer asked to stop: the rest is meaningless
};

struct RawChunk {
  std::uint64_t begin = 0;  // offset in the segment of the first byte
  base::Buffer bytes;
  std::vector<PlannedFrame> frames;  // all of them whole in `bytes`
  std::uint64_t first_frame = 0;     // frames of the run before these
  std::optional<RunEnd> end;         // set in the last chunk of the run

  base::ByteSpan data_of(const PlannedFrame& frame) const {
    return bytes.span().subspan(static_cast<std::size_t>(frame.offset - begin + k_header_bytes),
                                frame.header.comp_len);
  }
};

class ChunkReader {
 public:
  // `max_unit_bytes`: a frame that needs more memory ends the run (RunEnd::kind == frame).
  ChunkReader(const SegmentImage& image, std::uint64_t start, std::uint64_t max_unit_bytes)
      : image_(image), position_(start), max_unit_bytes_(max_unit_bytes) {}

  // Fills the next chunk (its memory is reused). False when the run is over.
  Result<bool> next(RawChunk& chunk);

 private:
  Result<void> extend(RawChunk& chunk, std::uint64_t end);

  const SegmentImage& image_;
  std::uint64_t position_;
  std::uint64_t max_unit_bytes_;
  std::uint64_t planned_ = 0;
  bool over_ = false;
};

}  // namespace varve::arena
