// SPDX-License-Identifier: MIT OR Apache-2.0
// All segments of a store, one after the other: the walk that verify, cat, state and stats share.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "arena/store_map.hpp"
#include "arena/walker.hpp"

namespace varve::arena {

// A segment as the walk's callbacks see it.
struct SegmentContext {
  const StoreMap& map;
  std::size_t position;  // in map.segments
  const SegmentImage& image;

  bool is_final() const { return map.is_final(position); }
  const SegmentFile& file() const { return map.segments[position]; }
  std::string path() const { return map.segment_path(file()); }
  std::uint64_t global(std::uint64_t offset) const {
    return map.geometry.global_offset(file().number, offset);
  }
};

// Opens a segment; one that is gone was removed by a compaction (ErrorCode::locked, "changing").
inline Result<std::unique_ptr<SegmentImage>> open_for_walk(const StoreMap& map,
                                                           std::size_t position) {
  auto image = map.open_segment(position);
  if (!image && is_missing(image.error())) {
    return fail(ErrorCode::locked, "changing", "a compaction removed the segment meanwhile",
                map.segment_path(map.segments[position]));
  }
  if (image && map.is_final(position)) {
    VARVE_TRY(fix_horizon(**image));
  }
  return image;
}

// Walks one opened segment of the map from `start`, where a frame or the end is. Callbacks, besides
// the handler of walk_run:
//   handler.segment(const SegmentContext&)                        before its first frame
//   handler.damage(const SegmentContext&, const Damage&) -> Result<bool>      false stops
//   handler.end(const SegmentContext&, const SegmentEnd&, TailScanner&) -> Result<void>
// False if the walk was stopped.
template <class Handler>
Result<bool> walk_image(const StoreMap& map, std::size_t position, const SegmentImage& image,
                        std::uint64_t start, const WalkOptions& options, Handler& handler) {
  const SegmentContext context{map, position, image};
  TailScanner scanner(image);
  handler.segment(context);
  VARVE_ASSIGN(const SegmentEnd end,
               walk_segment(
                   image, context.is_final(), start, options, handler,
                   [&](const Damage& damage) { return handler.damage(context, damage); }, scanner));
  if (end.kind == SegmentEnd::Kind::stopped) {
    return false;
  }
  VARVE_TRY(handler.end(context, end, scanner));
  return true;
}

// The same from its beginning.
template <class Handler>
Result<bool> walk_one_segment(const StoreMap& map, std::size_t position, const WalkOptions& options,
                              Handler& handler) {
  VARVE_ASSIGN(const auto image, open_for_walk(map, position));
  return walk_image(map, position, *image, 0, options, handler);
}

template <class Handler>
Result<bool> walk_log(const StoreMap& map, const WalkOptions& options, Handler& handler) {
  for (std::size_t position = 0; position < map.segments.size(); ++position) {
    VARVE_ASSIGN(const bool go_on, walk_one_segment(map, position, options, handler));
    if (!go_on) {
      return false;
    }
  }
  return true;
}

}  // namespace varve::arena
