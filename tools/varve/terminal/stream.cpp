// SPDX-License-Identifier: MIT OR Apache-2.0
#include "terminal/stream.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace varve::terminal {

namespace {

constexpr std::size_t k_buffer_bytes = 64 * 1024;

}  // namespace

OutputStream::~OutputStream() { flush(); }

void OutputStream::write_now(std::string_view bytes) {
  while (!bytes.empty() && usable()) {
    const ssize_t n = ::write(descriptor_, bytes.data(), bytes.size());
    if (n >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EPIPE) {
      closed_ = true;
    } else if (errno == EAGAIN) {  // somebody made the descriptor non-blocking: wait for room
      pollfd wait{descriptor_, POLLOUT, 0};
      ::poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      failed_errno_ = errno;
    }
  }
}

Result<bool> OutputStream::write(std::string_view bytes) {
  if (buffer_.size() + bytes.size() < k_buffer_bytes) {
    buffer_ += bytes;
  } else {
    flush();
    write_now(bytes);
  }
  if (failed_errno_ != 0) {
    return fail_errno(failed_errno_, "write", "standard output");
  }
  return !closed_;
}

void OutputStream::flush() {
  write_now(buffer_);
  buffer_.clear();
}

Result<void> OutputStream::finish() {
  flush();
  if (failed_errno_ != 0) {
    return fail_errno(failed_errno_, "write", "standard output");
  }
  return {};
}

bool is_terminal(int descriptor) { return ::isatty(descriptor) == 1; }

int terminal_width(int descriptor) {
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40) {
    return size.ws_col;
  }
  return 100;
}

}  // namespace varve::terminal
