// SPDX-License-Identifier: MIT OR Apache-2.0
// One row of a jss segment (spec section 5).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace varve::jss {

// Views: the bytes belong to whoever made the event, and live as long as that says.
struct Event {
  std::uint64_t seq = 0;          // 1 and up; 0 is never a row
  std::int64_t witnessed_at = 0;  // unix microseconds
  std::int64_t indexed_at = 0;    // unix microseconds; 0 means none
  std::uint8_t kind = 0;          // 1..7, section 5.2
  std::string_view did;           // at most 65,535 bytes
  std::string_view collection;    // at most 255 bytes, as rkey and rev
  std::string_view rkey;
  std::string_view rev;
  std::span<const std::byte> payload;  // DAG-CBOR; empty for deletes

  // What every JSON output calls the event's time.
  std::int64_t display_time() const { return indexed_at != 0 ? indexed_at : witnessed_at; }
};

}  // namespace varve::jss
