// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/press.hpp"

#include "jss/encode.hpp"

namespace varve::jss {

void press_body(base::ByteSpan body, base::ZstdEncoder& encoder, base::Bytes& out) {
  out.assign(k_length_prefix_bytes, std::byte{0});
  append_frame(out, body, encoder);
  base::store_le(out.data(), static_cast<std::uint64_t>(out.size() - k_length_prefix_bytes));
}

void press_block(BlockBuilder& rows, base::ZstdEncoder& encoder, base::Bytes& scratch,
                 PressedBlock& out) {
  scratch.clear();
  rows.encode(scratch);
  press_body(scratch, encoder, out.bytes);
  out.summary.summarize(rows.columns());
  out.entry = out.summary.entry();
  out.entry.compressed_size = static_cast<std::uint32_t>(out.bytes.size() - k_length_prefix_bytes);
  out.entry.uncompressed_size = static_cast<std::uint32_t>(scratch.size());
}

}  // namespace varve::jss
