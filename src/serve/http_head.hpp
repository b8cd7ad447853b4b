// SPDX-License-Identifier: MIT OR Apache-2.0
// The head of an HTTP/1.x request: bytes in, HttpRequest out. Strict where leniency would let two
// parties read one message in two ways (RFC 9112, section 11).
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "serve/http.hpp"

namespace varve::serve {

struct HttpHead {
  HttpRequest request;               // without body and peer
  bool keep_alive = true;            // what the client wants
  bool http_1_0 = false;             // then neither chunks nor 100-continue
  bool chunked = false;              // the body comes in chunks
  bool expects_continue = false;     // the client waits for "100 Continue"
  std::uint64_t content_length = 0;  // of the body, unless chunked
  bool has_body() const { return chunked || content_length != 0; }
};

// Why a head is refused: the status of the answer and a sentence.
struct HeadFault {
  int status = 400;
  std::string message;
};

// Where the head ends (behind its empty line); 0 while it is not complete; npos if it holds a line
// feed without a carriage return, which never gets better. `scanned`: bytes looked at before.
std::size_t find_head_end(std::string_view bytes, std::size_t scanned);

// Parses a whole head, its empty line included.
std::expected<HttpHead, HeadFault> parse_head(std::string_view bytes);

// "%41+b" to "A b" (`plus_is_space`), nullopt for a malformed escape.
std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space);

// Whether a comma-separated header value holds the token, without regard to case.
bool has_token(std::string_view list, std::string_view token);
// Without spaces and tabs at either end.
std::string_view trimmed(std::string_view text);
bool equal_ignoring_case(std::string_view a, std::string_view b);

}  // namespace varve::serve
