// SPDX-License-Identifier: MIT OR Apache-2.0
// One JSON line of CONTRACT section 5 as a row.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "varve/jss_event.hpp"
#include "varve/result.hpp"

namespace varve::jss {

// Parses line after line into memory that is used again. One a thread.
class EventLineParser {
 public:
  // The row, whose views are good until the next call. An absent seq is 0. `cid` and `at` are
  // ignored, an unknown key is not: a misspelt "record" would be lost. `witnessed_at` is
  // `default_time` where it is absent. ErrorCode::invalid_argument says what is wrong.
  Result<Event> parse(std::string_view line, std::int64_t default_time);

 private:
  using Value = simdjson::ondemand::value;
  // What is wrong with the member, or nullptr.
  const char* take(std::string_view key, Value value);
  const char* take_text(Value value, std::string& memory, std::string_view& out);
  const char* take_kind(Value value);
  const char* take_payload(Value value);
  const char* take_record(Value value);

  simdjson::ondemand::parser parser_;
  std::string padded_;
  Event event_;
  bool has_kind_ = false;
  bool has_did_ = false;
  bool has_payload_ = false;
  std::optional<std::int64_t> witnessed_at_;
  std::string did_, collection_, rkey_, rev_;
  base::Bytes payload_;
};

}  // namespace varve::jss
