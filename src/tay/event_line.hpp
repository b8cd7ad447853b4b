// SPDX-License-Identifier: MIT OR Apache-2.0
// One line of the log as JSON (CONTRACT section 5) back into a record.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "tay/value.hpp"
#include "varve/result.hpp"

namespace varve::tay {

struct EventLine {
  std::optional<std::uint64_t> sequence;  // if the line has one
  std::uint8_t type = 0;
  std::uint8_t schema = 1;
  ByteSpan payload;  // good until the next line
};

class EventLineParser {
 public:
  // `{"type", "event" or "payload", "seq"?, "schema"?, "at"?}`; `at` is ignored. The payload is
  // encoded canonically, not judged. ErrorCode::invalid_argument for anything else.
  Result<EventLine> parse(std::string_view json);

 private:
  Result<void> take(std::string_view key, simdjson::dom::element value, EventLine& out);

  simdjson::dom::parser parser_;
  Bytes payload_;
  bool has_payload_ = false;
};

}  // namespace varve::tay
