// SPDX-License-Identifier: MIT OR Apache-2.0
// One frame: header, the validity checks of section 3.2 in their order, and encoding. Knows no
// files; works on the zero-extended image of a segment.
#pragma once

#include <cstdint>
#include <optional>

#include "arena/layout.hpp"
#include "base/bytes.hpp"
#include "varve/result.hpp"

namespace varve::arena {

struct FrameHeader {
  std::uint32_t crc32 = 0;     // of the payload after decompression
  std::uint32_t raw_len = 0;   // bytes of the payload
  std::uint32_t comp_len = 0;  // bytes stored
  std::uint32_t seq = 0;       // advisory (section 5)

  bool compressed() const { return comp_len < raw_len; }
  std::uint64_t frame_bytes() const { return k_header_bytes + comp_len; }
  friend bool operator==(const FrameHeader&, const FrameHeader&) = default;
};

// What stands at an offset of a segment image.
enum class UnitKind : std::uint8_t {
  frame,
  marker,       // the end marker
  zero_header,  // the end before markers existed
  short_end,    // fewer than 16 bytes left
  invalid,
};

// The outcome of steps 1 to 6 of section 3.2, which need the header alone. `frame` means: the
// lengths are possible; steps 7 and 8 have to look at the data.
struct HeaderCheck {
  UnitKind kind = UnitKind::short_end;
  FrameHeader header;
  Fault fault;  // set if kind is invalid; offset counts from the header
};

// Loads the four words of 16 bytes.
FrameHeader decode_header(const std::byte* bytes);

// Steps 2 to 6. `room` is the number of bytes from the header's first byte to the end of the
// segment image (L - o), at least 16.
HeaderCheck check_header(const FrameHeader& header, std::uint64_t room);

// Steps 7 and 8. `data` are the comp_len stored bytes of a header that passed check_header; `room`
// is memory for raw_len bytes (may be null if the frame is not compressed). On success `payload`
// shows the payload: `data` itself, or what was decompressed into `room`.
std::optional<Fault> check_data(const FrameHeader& header, base::ByteSpan data, std::byte* room,
                                base::ByteSpan& payload);

// Appends the frame of a payload of 1..=k_max_payload_bytes bytes: the LZ4 block if it is strictly
// shorter, else the payload itself. Gives the header.
FrameHeader append_frame(base::ByteSpan payload, std::uint32_t seq, base::Bytes& out);
// Appends a frame that is copied as it is stored.
void append_stored_frame(const FrameHeader& header, base::ByteSpan data, base::Bytes& out);
// Appends the 16 bytes of the end marker.
void append_marker(base::Bytes& out);

// True if a block of LZ4 may decode to exactly raw_len bytes: token lengths, match offsets and the
// end of the block all fit. Copies nothing, stops at the first misfit. Necessary, not sufficient.
// `steps` is increased by the number of sequences looked at.
bool lz4_block_plausible(base::ByteSpan block, std::uint64_t raw_len, std::uint64_t& steps);

}  // namespace varve::arena
