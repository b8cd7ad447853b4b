// SPDX-License-Identifier: MIT OR Apache-2.0
// Where a frame ends by its own structure, found from a file without decompressing anything: the
// second witness beside the length prefix.
#pragma once

#include <array>
#include <cstdint>

#include "jss/segment_file.hpp"

namespace varve::jss {

// Small reads at ascending places, served from one page-sized window.
class WindowReader {
 public:
  explicit WindowReader(const SegmentFile& file) : file_(file) {}
  // The `count` (at most 64) bytes at `offset`, which end at or before the file's end. Good until
  // the next call.
  Result<const std::byte*> read(std::uint64_t offset, std::size_t count);
  std::uint64_t size() const { return file_.size(); }

 private:
  const SegmentFile& file_;
  std::array<std::byte, 4096> window_;
  std::uint64_t begin_ = 0;
  std::size_t filled_ = 0;
};

struct FrameExtent {
  enum class Kind : std::uint8_t {
    no_frame,   // the bytes do not begin with the zstd magic
    malformed,  // they do, but what follows is no frame
    runs_out,   // a frame that goes on behind `end`
    complete,
  };
  Kind kind = Kind::no_frame;
  std::uint64_t bytes = 0;    // of a complete frame
  bool has_checksum = false;  // of a complete frame: it ends with a content checksum
};

// Looks for a zstd frame at [offset, end). `budget` counts down by one a zstd block looked at; at
// zero the frame is called malformed.
Result<FrameExtent> probe_frame(WindowReader& reader, std::uint64_t offset, std::uint64_t end,
                                std::uint64_t& budget);

}  // namespace varve::jss
