// SPDX-License-Identifier: MIT OR Apache-2.0
// Zeros written ahead of a log's end, so that a later sync of an append has no new length and no
// new blocks to record: on ext4 that nearly halves the time of a small durable append. (Reserving
// blocks with `allocate` alone gains nothing, since each first write still changes their state.)
#pragma once

#include "varve/file_system.hpp"

namespace varve::io {

// Writes zeros over [offset, offset + length), in pieces.
Result<void> write_zeros(File& file, std::uint64_t offset, std::uint64_t length);

class ZeroAhead {
 public:
  // `filled_bytes`: the file is known to hold written zeros or data up to here. `step_bytes`: how
  // much to fill at a time. `limit_bytes`: never fill beyond (the size of a segment).
  ZeroAhead(std::uint64_t filled_bytes, std::uint64_t step_bytes, std::uint64_t limit_bytes)
      : filled_bytes_(filled_bytes), step_bytes_(step_bytes), limit_bytes_(limit_bytes) {}

  // Makes sure that [0, end_bytes) is filled, before the caller writes up to there. When it fills
  // it also syncs, so that zeros and length are durable before data stands on them. An `end_bytes`
  // beyond the limit is ErrorCode::limit.
  Result<void> reserve(File& file, std::uint64_t end_bytes);

  std::uint64_t filled_bytes() const { return filled_bytes_; }

 private:
  std::uint64_t filled_bytes_;
  std::uint64_t step_bytes_;
  std::uint64_t limit_bytes_;
};

}  // namespace varve::io
