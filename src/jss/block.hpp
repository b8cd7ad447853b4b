// SPDX-License-Identifier: MIT OR Apache-2.0
// The columnar body of a block (section 4), decoded in place: the columns are views into the
// decompressed bytes; only the positions of the strings are computed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/compression.hpp"
#include "jss/layout.hpp"
#include "varve/result.hpp"

namespace varve::jss {

// One of the five string columns: value i is data[offsets[i], offsets[i+1]).
struct StringColumn {
  const std::uint32_t* offsets = nullptr;  // rows + 1 of them
  const char* data = nullptr;
  std::string_view at(std::size_t row) const {
    return {data + offsets[row], offsets[row + 1] - offsets[row]};
  }
};

// All columns of one block. The fixed-width ones are naturally aligned.
struct BlockColumns {
  std::uint32_t rows = 0;
  const std::uint64_t* seq = nullptr;
  const std::int64_t* witnessed_at = nullptr;
  const std::int64_t* indexed_at = nullptr;
  const std::uint8_t* kind = nullptr;
  StringColumn collection;
  StringColumn did;
  StringColumn rkey;
  StringColumn rev;
  StringColumn payload;
};

// The words of the faults of decoding, in the order of the rules of section 4.
inline constexpr const char* k_body_too_short = "body-too-short";
inline constexpr const char* k_body_row_count = "row-count";
inline constexpr const char* k_body_columns = "columns-truncated";
inline constexpr const char* k_body_not_empty = "bytes-behind-empty-block";
inline constexpr const char* k_body_kind = "kind";
inline constexpr const char* k_body_strings = "strings-overrun";
inline constexpr const char* k_body_trailing = "trailing-bytes";
// Of the frame around it.
inline constexpr const char* k_frame_corrupt = "frame-corrupt";
inline constexpr const char* k_frame_trailing = "frame-trailing-bytes";
inline constexpr const char* k_frame_over_cap = "frame-over-cap";

// The memory of one decoded block, to be used again for the next.
class Block {
 public:
  Block() = default;
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  // The decompressed bytes; fill it, then call decode(). The misalignment puts the columns of
  // 64-bit values, which begin at offset 4, on multiples of 8.
  base::Buffer body{k_body_count_bytes};
  BlockColumns columns;

  // Applies the rules of section 4 to `body`, in order. On success `columns` views `body` and this
  // object; fault offsets count from the body's start.
  std::optional<Fault> decode();

 private:
  std::vector<std::uint32_t> offsets_;
};

// Decompresses and decodes frames. One a thread.
class FrameDecoder {
 public:
  // `frame`: the zstd bytes, without the length prefix. `cap_bytes`: the most that the body may
  // have (at most k_max_body_bytes). A body above it gives k_frame_over_cap.
  std::optional<Fault> decode(base::ByteSpan frame, std::uint64_t cap_bytes, Block& block);
  // Only the decompression: any frame of the format (the collection index has one, too).
  std::optional<Fault> decompress(base::ByteSpan frame, std::uint64_t cap_bytes, base::Buffer& out);

 private:
  base::ZstdDecoder zstd_{k_max_window_log};
};

}  // namespace varve::jss
