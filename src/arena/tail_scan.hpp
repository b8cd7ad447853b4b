// SPDX-License-Identifier: MIT OR Apache-2.0
// The search behind a bad frame (section 7 step 6): is there a valid frame or an end marker at any
// byte offset? Linear in the length of the tail, also for hostile ones: uncompressed candidates are
// answered from prefix CRCs, compressed ones are decoded only if their token structure fits, and
// what remains is held down by a budget (section 7.3).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "arena/codec.hpp"
#include "arena/segment_image.hpp"
#include "base/compression.hpp"
#include "base/crc32_shift.hpp"

namespace varve::arena {

// What proves that the bytes before it had been committed.
struct Proof {
  UnitKind kind = UnitKind::frame;  // frame or marker
  std::uint64_t offset = 0;
  FrameHeader header;
};

class TailScanner {
 public:
  // Looks at the image's bytes; both must outlive the scanner's use.
  explicit TailScanner(const SegmentImage& image) : image_(image) {}

  // The first offset >= `from` where a valid frame starts, or (with `markers`) an end marker.
  // `from` must not decrease from call to call. nullopt if there is none up to the last non-zero
  // byte. ErrorCode::limit with reason "scan-limit" if hostile bytes used up the budget: then
  // nothing is known.
  Result<std::optional<Proof>> next(std::uint64_t from, bool markers);

  // The last non-zero byte of the image, as far as next() had to find it.
  std::optional<std::uint64_t> last_nonzero() const { return last_nonzero_; }

 private:
  Result<void> start(std::uint64_t from);
  Result<void> load_to(std::uint64_t end, std::uint64_t keep_from);
  const std::byte* at(std::uint64_t offset) const { return window_.data() + (offset - origin_); }
  std::uint32_t prefix_crc(std::uint64_t offset);
  Result<bool> frame_at(std::uint64_t offset, const FrameHeader& header);
  Result<bool> raw_frame_at(std::uint64_t offset, const FrameHeader& header);
  Result<bool> compressed_frame_at(std::uint64_t offset, const FrameHeader& header);
  Result<void> spend(std::uint64_t work_bytes);

  const SegmentImage& image_;
  bool started_ = false;
  std::optional<std::uint64_t> last_nonzero_;
  std::uint64_t data_end_ = 0;  // one behind the last non-zero byte
  // The window [origin_, loaded_) of the image, and (made when first needed) the CRCs of prefixes
  // up to each whole stride behind origin_. All of them begin at one place; where does not matter.
  base::Buffer window_;
  std::uint64_t origin_ = 0;
  std::uint64_t loaded_ = 0;
  std::vector<std::uint32_t> checkpoints_;
  base::Crc32Shift shift_;
  base::Buffer block_;
  base::Buffer payload_;
  std::uint64_t budget_ = 0;
};

}  // namespace varve::arena
