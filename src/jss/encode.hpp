// SPDX-License-Identifier: MIT OR Apache-2.0
// The encoders of everything around the blocks: header, index entries, footer (sections 2, 6 to 8).
#pragma once

#include <array>
#include <cstdint>

#include "base/bytes.hpp"
#include "base/compression.hpp"
#include "jss/layout.hpp"
#include "jss/segment_summary.hpp"
#include "varve/result.hpp"

namespace varve::jss {

using HeaderBytes = std::array<std::byte, k_header_bytes>;

// The header of a file that is being appended to: the magic, then zeros.
HeaderBytes active_header();
// All fields of a header, the checksum as it stands in `header`.
HeaderBytes encode_header(const Header& header);
void append_index_entry(base::Bytes& out, const IndexEntry& entry);

// One frame of a body, as a writer of this format makes it. An empty body becomes the 9 bytes of
// section 3.
void append_frame(base::Bytes& out, base::ByteSpan body, base::ZstdEncoder& encoder);

// The sequence and time bounds of a header. After a rewrite they are the old ones.
struct Envelope {
  std::uint64_t min_seq = 0;
  std::uint64_t max_seq = 0;
  std::int64_t min_witnessed_at = 0;
  std::int64_t max_witnessed_at = 0;
};
Envelope envelope_of(const SegmentSummary& summary);

// What sealing writes: the footer first, then, when it is durable, the header.
struct SealedParts {
  Header header;
  HeaderBytes header_bytes;
  base::Bytes footer;
};
// `footer_offset`: where the frames end. ErrorCode::limit where the format has no room: more than
// 2^20 blocks or names, 2^32-1 rows, 2^30 bytes of collection index, or a checksum of 0.
Result<SealedParts> encode_footer(const SegmentSummary& summary, std::uint64_t footer_offset,
                                  const Envelope& envelope, base::ZstdEncoder& encoder);

// The checksum of section 2 over header bytes and footer.
std::uint64_t metadata_checksum(const HeaderBytes& header, base::ByteSpan footer);

}  // namespace varve::jss
