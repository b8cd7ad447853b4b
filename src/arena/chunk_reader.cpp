// SPDX-License-Identifier: MIT OR Apache-2.0
#include "arena/chunk_reader.hpp"

#include <algorithm>

namespace varve::arena {

namespace {

// One read a chunk in the common case: what fits into the second-level cache.
constexpr std::uint64_t k_chunk_bytes = std::uint64_t{256} << 10;
// What the frames of one chunk may come to when decompressed, unless one frame alone is larger.
constexpr std::uint64_t k_chunk_payload_bytes = std::uint64_t{4} << 20;

}  // namespace

// Makes the bytes of the image up to `end` present in the chunk.
Result<void> ChunkReader::extend(RawChunk& chunk, std::uint64_t end) {
  const std::size_t have = chunk.bytes.size();
  const auto want = static_cast<std::size_t>(end - chunk.begin);
  if (want <= have) {
    return {};
  }
  chunk.bytes.reserve(want);
  chunk.bytes.set_size(want);
  return image_.read({chunk.bytes.data() + have, want - have}, chunk.begin + have);
}

Result<bool> ChunkReader::next(RawChunk& chunk) {
  chunk.begin = position_;
  chunk.bytes.set_size(0);
  chunk.frames.clear();
  chunk.first_frame = planned_;
  chunk.end.reset();
  if (over_) {
    return false;
  }
  const std::uint64_t logical = image_.logical_bytes();
  std::uint64_t payload_bytes = 0;
  for (;;) {
    const auto finish = [&](const HeaderCheck& check) {
      chunk.end = RunEnd{check.kind, position_, check.header, check.fault};
      over_ = true;
      return true;
    };
    const std::uint64_t room = logical - std::min(position_, logical);
    if (room < k_header_bytes) {
      return finish({});
    }
    const std::uint64_t ahead = std::min(chunk.begin + k_chunk_bytes, logical);
    if (position_ + k_header_bytes > chunk.begin + chunk.bytes.size()) {
      if (position_ + k_header_bytes > ahead && !chunk.frames.empty()) {
        return true;
      }
      VARVE_TRY(extend(chunk, std::max(ahead, position_ + k_header_bytes)));
    }
    const FrameHeader header = decode_header(chunk.bytes.data() + (position_ - chunk.begin));
    HeaderCheck check = check_header(header, room);
    if (image_.horizon() && position_ >= *image_.horizon() &&
        (check.kind == UnitKind::frame || check.kind == UnitKind::invalid)) {
      check.kind = UnitKind::marker;  // what stood here when the reading began
    }
    if (check.kind != UnitKind::frame) {
      return finish(check);
    }
    if (std::uint64_t{header.raw_len} + header.comp_len > max_unit_bytes_) {
      return finish(check);
    }
    payload_bytes += header.raw_len;
    if (!chunk.frames.empty() && payload_bytes > k_chunk_payload_bytes) {
      return true;
    }
    VARVE_TRY(extend(chunk, position_ + header.frame_bytes()));
    chunk.frames.push_back({position_, header});
    ++planned_;
    position_ += header.frame_bytes();
  }
}

}  // namespace varve::arena
