// SPDX-License-Identifier: MIT OR Apache-2.0
// What a client of a stream asks for, and the rules of it (spec sections 19.1 and 19.3).
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include "jss/filter.hpp"
#include "serve/http.hpp"
#include "serve/stream_dictionary.hpp"

namespace varve::serve {

// v1: the legacy /subscribe; v2: network.bsky.jetstream.subscribeEvents.
enum class StreamVersion : std::uint8_t { v1, v2 };

// How a client wants its frames.
struct StreamForm {
  StreamVersion version = StreamVersion::v2;
  int dictionary = -1;  // index of the dictionary that compresses them; -1: text
  friend bool operator==(const StreamForm&, const StreamForm&) = default;
};

// Which events a client wants: what `options_update` can change.
struct StreamFilter {
  jss::RowFilter rows;
  std::uint32_t max_message_bytes = 0;  // of a frame before compression; 0: no limit
};

struct StreamRequest {
  StreamForm form;
  StreamFilter filter;
  std::optional<std::int64_t> cursor;  // 0 and up
  bool require_hello = false;          // v1: send nothing before an options_update came
};

// Why there is no stream: told with status 400 before the upgrade.
struct StreamRefusal {
  std::string error;  // "InvalidRequest", "UnknownZstdDictionary", "CursorTooOld"
  std::string message;
  friend bool operator==(const StreamRefusal&, const StreamRefusal&) = default;
};

std::expected<StreamRequest, StreamRefusal> parse_stream_request(
    StreamVersion version, const HttpRequest& request, const StreamDictionaries& dictionaries);

}  // namespace varve::serve
