// SPDX-License-Identifier: MIT OR Apache-2.0
// From rows to what stands in the file: body, frame, length prefix, and the summary that sealing
// needs. Done side by side for several blocks; committed in order by whoever owns the file.
#pragma once

#include "base/bytes.hpp"
#include "base/compression.hpp"
#include "jss/block_builder.hpp"
#include "jss/segment_summary.hpp"

namespace varve::jss {

// The level that comes nearest to the reference's "default" (section 3).
inline constexpr int k_compression_level = 3;

struct PressedBlock {
  base::Bytes bytes;  // the length prefix and the frame
  // As it will stand in the block index, except for the offset.
  IndexEntry entry;
  BlockSummary summary;  // views the rows that it was made from
};

// Makes the block of a builder's rows. `scratch` holds the body and is used again.
void press_block(BlockBuilder& rows, base::ZstdEncoder& encoder, base::Bytes& scratch,
                 PressedBlock& out);
// The prefix and frame of a body. Appends nothing to the summary.
void press_body(base::ByteSpan body, base::ZstdEncoder& encoder, base::Bytes& out);

}  // namespace varve::jss
