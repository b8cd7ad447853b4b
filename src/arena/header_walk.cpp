// SPDX-License-Identifier: MIT OR Apache-2.0
#include "arena/header_walk.hpp"

#include <algorithm>

namespace varve::arena {

namespace {

Result<HeaderSummary> walk_to(const SegmentImage& image, std::uint64_t stop) {
  constexpr std::uint64_t k_window_bytes = std::uint64_t{64} << 10;
  constexpr std::uint64_t k_least_window_bytes = 512;
  HeaderSummary out;
  base::Bytes window;
  std::uint64_t window_begin = 0;
  // Small frames are read through, between large ones only the headers.
  std::uint64_t ahead = k_least_window_bytes;
  std::uint64_t at = 0;
  for (;;) {
    const std::uint64_t room = image.logical_bytes() - std::min(at, image.logical_bytes());
    HeaderCheck check;
    if (room >= k_header_bytes) {
      if (at < window_begin || at + k_header_bytes > window_begin + window.size()) {
        const bool near = at <= window_begin + 2 * window.size();
        ahead = near ? std::min(2 * ahead, k_window_bytes) : k_least_window_bytes;
        window_begin = at;
        window.resize(static_cast<std::size_t>(std::min(ahead, room)));
        VARVE_TRY(image.read(window, at));
      }
      check = check_header(decode_header(window.data() + (at - window_begin)), room);
    }
    if (check.kind != UnitKind::frame || at >= stop) {
      out.end = RunEnd{check.kind, at, check.header, check.fault};
      return out;
    }
    ++out.frames;
    out.raw_bytes += check.header.raw_len;
    out.stored_bytes += check.header.comp_len;
    at += check.header.frame_bytes();
  }
}

}  // namespace

Result<HeaderSummary> walk_headers(const SegmentImage& image) {
  return walk_to(image, image.logical_bytes());
}

Result<std::optional<std::uint64_t>> frames_before(const SegmentImage& image,
                                                   std::uint64_t offset) {
  VARVE_ASSIGN(const HeaderSummary summary, walk_to(image, offset));
  return summary.end.offset == offset ? std::optional(summary.frames) : std::nullopt;
}

}  // namespace varve::arena
