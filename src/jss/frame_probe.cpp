// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/frame_probe.hpp"

#include <algorithm>
#include <cassert>

#include "base/compression.hpp"
#include "base/mutant.hpp"

namespace varve::jss {

namespace {

constexpr std::uint64_t k_zstd_magic_bytes = 4;
constexpr std::uint64_t k_zstd_max_header_bytes = 18;
constexpr std::uint64_t k_zstd_block_header_bytes = 3;
constexpr std::uint64_t k_zstd_checksum_bytes = 4;
constexpr std::uint32_t k_zstd_max_block_bytes = 128 * 1024;

enum : std::uint32_t { k_block_run = 1, k_block_compressed = 2 };

}  // namespace

Result<const std::byte*> WindowReader::read(std::uint64_t offset, std::size_t count) {
  assert(count <= 64 && offset + count <= file_.size());
  if (offset < begin_ || offset + count > begin_ + filled_) {
    filled_ = 0;
    const auto n =
        static_cast<std::size_t>(std::min<std::uint64_t>(window_.size(), file_.size() - offset));
    VARVE_TRY(file_.read(std::span(window_).first(n), offset));
    begin_ = offset;
    filled_ = n;
  }
  return window_.data() + (offset - begin_);
}

Result<FrameExtent> probe_frame(WindowReader& reader, std::uint64_t offset, std::uint64_t end,
                                std::uint64_t& budget) {
  FrameExtent extent;
  const std::uint64_t left = end - offset;
  const auto header_room = static_cast<std::size_t>(std::min(left, k_zstd_max_header_bytes));
  if (header_room < k_zstd_magic_bytes) {
    return extent;
  }
  VARVE_ASSIGN(const std::byte* const start, reader.read(offset, header_room));
  if (base::u32le(start) != k_zstd_magic) {
    return extent;
  }
  const auto header = base::zstd_frame_header({start, header_room});
  extent.kind = header || header_room == k_zstd_max_header_bytes ? FrameExtent::Kind::malformed
                                                                 : FrameExtent::Kind::runs_out;
  if (!header) {
    return extent;
  }
  extent.has_checksum = header->has_checksum;
  std::uint64_t at = offset + header->header_bytes;
  for (bool last = false; !last;) {
    if (budget == 0) {
      return extent;
    }
    --budget;
    extent.kind = FrameExtent::Kind::runs_out;
    if (end - at < k_zstd_block_header_bytes) {
      return extent;
    }
    VARVE_ASSIGN(const std::byte* const p, reader.read(at, k_zstd_block_header_bytes));
    const std::uint32_t block = std::uint32_t{base::u8(p[0])} | std::uint32_t{base::u8(p[1])} << 8 |
                                std::uint32_t{base::u8(p[2])} << 16;
    last = (block & 1) != 0;
    const std::uint32_t type = (block >> 1) & 3;
    const std::uint32_t size = block >> 3;
    extent.kind = FrameExtent::Kind::malformed;
    if (type > k_block_compressed || (type != k_block_run && size > k_zstd_max_block_bytes)) {
      return extent;
    }
    at += k_zstd_block_header_bytes;
    const std::uint64_t stored = type == k_block_run ? 1 : size;
    extent.kind = FrameExtent::Kind::runs_out;
    if (stored > end - at) {
      return extent;
    }
    at += stored;
  }
  const std::uint64_t tail = header->has_checksum ? k_zstd_checksum_bytes : 0;
  if (tail > end - at && !base::mutant("jss-probe-checksum")) {
    return extent;
  }
  extent.kind = FrameExtent::Kind::complete;
  extent.bytes = at + tail - offset;
  return extent;
}

}  // namespace varve::jss
