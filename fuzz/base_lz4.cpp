// SPDX-License-Identifier: MIT OR Apache-2.0
// LZ4 blocks: decoding stays in its buffer, does not depend on what lay there, and what is encoded
// comes back.
#include <cstdlib>

#include "base/compression.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace varve::base;
  if (size < 2) {
    return 0;
  }
  const ByteSpan input{reinterpret_cast<const std::byte*>(data + 2), size - 2};
  const std::size_t room = data[0] | std::size_t{data[1]} << 8;
  Bytes first(room, std::byte{0x00});
  Bytes second(room, std::byte{0xFF});
  const bool decodes = lz4_decode(input, first);
  if (lz4_decode(input, second) != decodes || (decodes && first != second)) {
    std::abort();
  }
  Bytes block;
  if (lz4_encode(input, block)) {
    Bytes back(input.size());
    if (block.size() >= input.size() || !lz4_decode(block, back) ||
        as_text(back) != as_text(input)) {
      std::abort();
    }
  }
  return 0;
}
