// SPDX-License-Identifier: MIT OR Apache-2.0
// Reading a stretch of a log whose ends are known, frame by frame and one after the other: what
// compaction copies, and what it verifies before it publishes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "arena/log_writer.hpp"
#include "arena/manifest.hpp"
#include "arena/walker.hpp"

namespace varve::arena {

struct StoredFrame {
  LogPlace place;
  FrameHeader header;
  base::ByteSpan data;     // as stored
  base::ByteSpan payload;  // as it was appended
};

// What stands where a frame should be: ErrorCode::damaged, corrupt-frame.
inline std::unexpected<Error> not_a_frame(const SegmentImage& image, std::uint64_t offset,
                                          const Fault& fault) {
  Error error;
  error.code = ErrorCode::damaged;
  error.path = image.file().path();
  error.offset = offset;
  error.unit = "frame";
  error.reason = "corrupt-frame";
  error.expected = fault.expected;
  error.actual = fault.actual;
  error.message = std::string("a frame in the middle of the log does not hold, reason ") +
                  (*fault.word != '\0' ? fault.word : "end");
  return std::unexpected(std::move(error));
}

// Calls visit(const StoredFrame&) -> Result<void> for each frame in [from, to), with the complete
// check of section 3.2. Both places are where a frame begins or the log ends.
template <class Visit>
Result<void> each_frame(const io::Directory& directory, const Geometry& geometry, LogPlace from,
                        LogPlace to, Visit visit) {
  base::Buffer data;
  base::Buffer room;
  for (; from.segment <= to.segment; from = {from.segment + 1, 0}) {
    const bool last = from.segment == to.segment;
    if (last && from.offset >= to.offset) {
      break;
    }
    VARVE_ASSIGN(auto file, directory.open_file(segment_name(from.segment), io::OpenMode::read));
    VARVE_ASSIGN(const auto identity, file->identity());
    const std::uint64_t logical = last ? to.offset : geometry.segment_bytes;
    const SegmentImage image(std::move(file), from.segment, std::min(identity.size_bytes, logical),
                             logical);
    while (!last || from.offset < to.offset) {
      VARVE_ASSIGN(const UnitCheck unit, check_at(image, from.offset, data, room));
      if (unit.kind != UnitKind::frame) {
        if (last || unit.kind == UnitKind::invalid) {
          return not_a_frame(image, from.offset, unit.fault);
        }
        break;
      }
      VARVE_TRY(
          visit(StoredFrame{from, unit.header, {data.data(), unit.header.comp_len}, unit.payload}));
      from.offset += unit.header.frame_bytes();
    }
  }
  return {};
}

}  // namespace varve::arena
