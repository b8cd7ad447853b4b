// SPDX-License-Identifier: MIT OR Apache-2.0
// Where a stream begins: the table of section 19.2.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>

#include "serve/stream_request.hpp"

namespace varve::serve {

// Cursors from here on are times in microseconds since 1970; those below are seqs.
inline constexpr std::int64_t k_first_time_cursor = 1'000'000'000'000'000;

// What lies below is not replayed.
struct StreamFloor {
  std::uint64_t seq = 1;
  std::int64_t witnessed_at = 0;  // of the first row that is replayed, or a time before it
};

// An archive at the moment when a client comes.
struct StreamBounds {
  std::uint64_t next_seq = 1;  // the number that the next row gets, as far as can be seen
  std::optional<StreamFloor> floor;
};

struct StreamStart {
  std::uint64_t seq = 1;             // the least seq that is sent...
  std::optional<std::int64_t> time;  // ...from the first row on that was witnessed then or later
  bool outdated = false;             // v2: an #info OutdatedCursor comes first
  friend bool operator==(const StreamStart&, const StreamStart&) = default;
};

// `now_us`: to tell times in the future.
std::expected<StreamStart, StreamRefusal> start_of(StreamVersion version,
                                                   std::optional<std::int64_t> cursor,
                                                   const StreamBounds& bounds, std::int64_t now_us);

}  // namespace varve::serve
