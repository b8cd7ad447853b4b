// SPDX-License-Identifier: MIT OR Apache-2.0
// zstd frames: never more comes out than the cap, memory stays in proportion, what decodes decodes
// the same again into a buffer that was used before.
#include <cstdlib>

#include "base/compression.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace varve::base;
  static ZstdDecoder decoder;
  static Buffer used;
  constexpr std::uint64_t k_cap = 1 << 20;
  const ByteSpan frame{reinterpret_cast<const std::byte*>(data), size};
  const auto header = zstd_frame_header(frame);
  const auto frame_size = zstd_frame_size(frame);
  if (frame_size && *frame_size > size) {
    std::abort();
  }
  Buffer fresh(4);
  const CodecStatus status = decoder.decode(frame, k_cap, fresh);
  if (fresh.size() > k_cap || fresh.capacity() > k_cap + 64) {
    std::abort();
  }
  if (decoder.decode(frame, k_cap, used) != status) {
    std::abort();
  }
  if (status != CodecStatus::ok) {
    return 0;
  }
  if (as_text(fresh.span()) != as_text(used.span()) || !header || frame_size != size ||
      (header->content_size && *header->content_size != fresh.size())) {
    std::abort();
  }
  // Exactly at the cap is fine, one byte less is not.
  if (decoder.decode(frame, fresh.size(), used) != CodecStatus::ok ||
      (fresh.size() > 0 &&
       decoder.decode(frame, fresh.size() - 1, used) != CodecStatus::over_cap)) {
    std::abort();
  }
  return 0;
}
