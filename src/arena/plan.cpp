// SPDX-License-Identifier: MIT OR Apache-2.0
// `plan`: what a scan would read. The journal has no index, so the answer is about segments.
#include "arena/view.hpp"

namespace varve::arena {

Result<Json> ArenaView::plan(const ScanRequest& request) {
  Json segments = Json::array();
  std::uint64_t bytes = 0;
  for (const SegmentFile& segment : map_.segments) {
    const std::uint64_t stored = std::min(segment.allocated_bytes, segment.file_bytes);
    segments.push(Json::object()
                      .set("file", map_.segment_path(segment))
                      .set("read", true)
                      .set("bytes", stored)
                      .set("reason", "the journal has no index: frames are found by walking"));
    bytes += stored;
  }
  Json out = Json::object();
  out.set("generation", map_.live_name)
      .set("face", request.face == Face::state ? "state" : "log")
      .set("passes", request.reverse && request.face == Face::log ? 2 : 1)
      .set("bytes", bytes)
      .set("segments", std::move(segments));
  return out;
}

}  // namespace varve::arena
