// SPDX-License-Identifier: MIT OR Apache-2.0
// How a connection reads a request: its head and its body, within the limits of size and time.
#include <algorithm>

#include "base/whole_number.hpp"
#include "serve/answers.hpp"
#include "serve/http_connection.hpp"

namespace varve::serve {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t k_read_bytes = 16384;
constexpr std::size_t k_max_chunk_line_bytes = 4096;
constexpr std::size_t k_max_trailer_lines = 100;

// A status of 0: the connection is gone, there is nobody to answer.
HttpResponse gone() { return {.status = 0, .headers = {}, .body = {}}; }

HttpResponse too_large(std::size_t max) {
  return error_answer(413, "a body may have " + std::to_string(max) + " bytes");
}

// The size at the begin of a chunk's line; nullopt for what is none.
std::optional<std::uint64_t> chunk_size(std::string_view line) {
  line = trimmed(line.substr(0, line.find(';')));  // extensions have no meaning here
  return base::whole_number<std::uint64_t>(line, 16);
}

}  // namespace

bool HttpConnection::read_head(HttpHead& head, HeadFault& fault) {
  const HttpServerOptions& options = shared_.options;
  auto deadline = Clock::now() + options.idle_timeout;
  bool begun = false;
  for (std::size_t scanned = 0;;) {
    if (scanned == 0) {  // empty lines before a request are allowed for
      pending_.erase(0, pending_.starts_with("\r\n") ? 2 : 0);
    }
    const std::size_t end = find_head_end(pending_, scanned);
    if (end == std::string::npos) {
      fault = {400, "lines end with CR LF"};
      return false;
    }
    if (end != 0 && end <= options.max_head_bytes) {
      auto parsed = parse_head(std::string_view(pending_).substr(0, end));
      pending_.erase(0, end);
      if (!parsed) {
        fault = std::move(parsed).error();
        return false;
      }
      head = *std::move(parsed);
      return true;
    }
    if (end != 0 || pending_.size() > options.max_head_bytes) {
      const bool line = pending_.find('\n') > options.max_head_bytes;
      fault = {line ? 414 : 431,
               "a request's head may have " + std::to_string(options.max_head_bytes) + " bytes"};
      return false;
    }
    scanned = pending_.size();
    if (!begun && !pending_.empty()) {
      begun = true;
      deadline = Clock::now() + options.head_timeout;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    const Wait waited =
        left.count() <= 0 ? Wait::timed_out : socket_.wait_readable(left, &shared_.stopping);
    if (waited == Wait::timed_out && begun) {
      fault = {408, "the request's head took too long"};
    }
    if (waited != Wait::ready || socket_.read_available(pending_, k_read_bytes) == Wait::gone) {
      return false;
    }
  }
}

bool HttpConnection::fill() {
  for (;;) {
    const Wait got = socket_.read_available(pending_, k_read_bytes);
    if (got != Wait::timed_out) {
      return got == Wait::ready;
    }
    if (socket_.wait_readable(shared_.options.progress_timeout) != Wait::ready) {
      return false;
    }
  }
}

std::optional<HttpResponse> HttpConnection::read_body(HttpHead& head) {
  const std::size_t max = shared_.options.max_body_bytes;
  if (head.content_length > max) {
    return too_large(max);
  }
  if (head.has_body() && head.expects_continue && pending_.empty() &&
      !socket_.write_all("HTTP/1.1 100 Continue\r\n\r\n", shared_.options.progress_timeout)) {
    return gone();
  }
  return head.chunked ? read_chunked(head) : read_sized(head);
}

std::optional<HttpResponse> HttpConnection::read_sized(HttpHead& head) {
  while (pending_.size() < head.content_length) {
    if (!fill()) {
      return gone();
    }
  }
  head.request.body = pending_.substr(0, head.content_length);
  pending_.erase(0, head.content_length);
  return std::nullopt;
}

// A line without its end; false if it is too long, misses its CR, or the connection ended.
bool HttpConnection::read_line(std::string& line) {
  std::size_t end = 0;
  while ((end = pending_.find('\n')) == std::string::npos) {
    if (pending_.size() > k_max_chunk_line_bytes || !fill()) {
      return false;
    }
  }
  if (end == 0 || end > k_max_chunk_line_bytes || pending_[end - 1] != '\r') {
    return false;
  }
  line = pending_.substr(0, end - 1);
  pending_.erase(0, end + 1);
  return true;
}

std::optional<HttpResponse> HttpConnection::read_chunked(HttpHead& head) {
  const std::size_t max = shared_.options.max_body_bytes;
  const HttpResponse malformed = error_answer(400, "the body's chunks are malformed");
  std::string& body = head.request.body;
  std::string line;
  for (;;) {
    if (!read_line(line)) {
      return malformed;
    }
    const auto size = chunk_size(line);
    if (!size) {
      return malformed;
    }
    if (*size > max - body.size()) {
      return too_large(max);
    }
    if (*size == 0) {
      break;
    }
    while (pending_.size() < *size + 2) {
      if (!fill()) {
        return gone();
      }
    }
    if (pending_.compare(*size, 2, "\r\n") != 0) {
      return malformed;
    }
    body.append(pending_, 0, *size);
    pending_.erase(0, *size + 2);
  }
  for (std::size_t trailers = 0; trailers < k_max_trailer_lines; ++trailers) {
    if (!read_line(line)) {
      return malformed;
    }
    if (line.empty()) {
      return std::nullopt;
    }
  }
  return malformed;
}

}  // namespace varve::serve
