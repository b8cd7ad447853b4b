// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/stream_cursor.hpp"

#include <algorithm>
#include <string>

namespace varve::serve {

namespace {

std::expected<StreamStart, StreamRefusal> start_at_seq(StreamVersion version, std::uint64_t seq,
                                                       const StreamBounds& bounds) {
  StreamStart out;
  out.seq = std::max<std::uint64_t>(seq, 1);
  if (out.seq >= bounds.next_seq) {
    out.seq = bounds.next_seq;
    return out;
  }
  if (bounds.floor && out.seq < bounds.floor->seq) {
    if (version == StreamVersion::v2) {
      return std::unexpected(
          StreamRefusal{"CursorTooOld", "cursor " + std::to_string(seq) +
                                            " is too old; the oldest seq that is replayed is " +
                                            std::to_string(bounds.floor->seq)});
    }
    out.seq = bounds.floor->seq;
  }
  return out;
}

StreamStart start_at_time(StreamVersion version, std::int64_t time, const StreamBounds& bounds,
                          std::int64_t now_us) {
  StreamStart out;
  if (time > now_us) {
    out.seq = bounds.next_seq;
    return out;
  }
  if (bounds.floor) {
    out.seq = bounds.floor->seq;
    if (time < bounds.floor->witnessed_at) {
      out.outdated = version == StreamVersion::v2;
      return out;
    }
  }
  out.time = time;
  return out;
}

}  // namespace

std::expected<StreamStart, StreamRefusal> start_of(StreamVersion version,
                                                   std::optional<std::int64_t> cursor,
                                                   const StreamBounds& bounds,
                                                   std::int64_t now_us) {
  if (!cursor) {
    StreamStart tip;
    tip.seq = bounds.next_seq;
    return tip;
  }
  if (*cursor >= k_first_time_cursor) {
    return start_at_time(version, *cursor, bounds, now_us);
  }
  return start_at_seq(version, static_cast<std::uint64_t>(*cursor), bounds);
}

}  // namespace varve::serve
