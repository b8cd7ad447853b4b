// SPDX-License-Identifier: MIT OR Apache-2.0
#include "verbs/line_reader.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace varve::cli {

namespace {

constexpr std::size_t k_piece_bytes = 256 * 1024;

}  // namespace

Result<LineReader::Kind> LineReader::fill(int idle_ms) {
  pollfd wait{descriptor_, POLLIN, 0};
  const int ready = ::poll(&wait, 1, idle_ms);
  if (ready == 0) {
    return Kind::idle;
  }
  if (ready < 0) {
    if (errno == EINTR) {
      return Kind::interrupted;
    }
    return fail_errno(errno, "poll", "standard input");
  }
  buffer_.erase(0, begin_);
  scanned_ -= begin_;
  begin_ = 0;
  const std::size_t old_size = buffer_.size();
  buffer_.resize(old_size + k_piece_bytes);
  const ssize_t n = ::read(descriptor_, buffer_.data() + old_size, k_piece_bytes);
  buffer_.resize(old_size + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  if (n < 0) {
    if (errno == EINTR) {
      return Kind::interrupted;
    }
    if (errno == EAGAIN) {
      return Kind::line;
    }
    return fail_errno(errno, "read", "standard input");
  }
  ended_ = n == 0;
  return Kind::line;
}

Result<LineReader::Event> LineReader::next(int idle_ms) {
  for (;;) {
    const std::size_t feed = buffer_.find('\n', scanned_);
    const bool whole = feed != std::string::npos;
    if (whole || (ended_ && begin_ < buffer_.size())) {
      const std::size_t end = whole ? feed : buffer_.size();
      const std::string_view line = std::string_view(buffer_).substr(begin_, end - begin_);
      begin_ = scanned_ = whole ? end + 1 : end;
      ++line_number_;
      return Event{Kind::line, line};
    }
    if (ended_) {
      return Event{Kind::end, {}};
    }
    scanned_ = buffer_.size();
    if (buffer_.size() - begin_ > most_line_bytes_) {
      return fail(ErrorCode::limit, "limit",
                  "line " + std::to_string(line_number_ + 1) + " is longer than --max-memory",
                  "standard input");
    }
    VARVE_ASSIGN(const Kind kind, fill(idle_ms));
    if (kind != Kind::line) {
      return Event{kind, {}};
    }
  }
}

}  // namespace varve::cli
