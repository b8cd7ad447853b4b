// SPDX-License-Identifier: MIT OR Apache-2.0
// Reading, decompressing and decoding one block of a file, and the finding if that fails. One a
// thread.
#pragma once

#include <cstdint>
#include <optional>

#include "jss/archive.hpp"
#include "jss/block.hpp"

namespace varve::jss {

class BlockReader {
 public:
  explicit BlockReader(std::uint64_t max_memory_bytes) : max_memory_bytes_(max_memory_bytes) {}

  // Decodes into `block`. The finding has stage decode (or the code `limit`); an Error is the
  // system's, or says that the file became shorter. A frame of an active file that was written to
  // meanwhile is read again once before it is called damaged.
  Result<std::optional<Finding>> read(const OpenSegment& segment, const FrameRef& frame,
                                      std::uint64_t index, Block& block);
  // The frame's bytes, without its prefix; good until the next read().
  base::ByteSpan frame() const { return frame_; }

 private:
  Result<std::optional<Fault>> attempt(const SegmentFile& file, const FrameRef& frame,
                                       Block& block);

  std::uint64_t max_memory_bytes_;
  FrameDecoder decoder_;
  base::Bytes memory_;
  base::ByteSpan frame_;
};

}  // namespace varve::jss
