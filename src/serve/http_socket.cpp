// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/http_socket.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <vector>

#include "io/system_file.hpp"

namespace varve::serve {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t k_piece_bytes = std::size_t{256} << 10;
// sendfile() takes no more at a time.
constexpr std::uint64_t k_most_sendfile_bytes = std::uint64_t{1} << 30;

// What an errno of a socket call on a non-blocking socket means.
Wait wait_of_errno(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR ? Wait::timed_out : Wait::gone;
}

}  // namespace

Signal::Signal() : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void Signal::raise() {
  raised_.store(true, std::memory_order_release);
  ::eventfd_write(descriptor_.get(), 1);
}

Wait HttpSocket::wait(short events, Duration timeout, const Signal* signal) const {
  const auto deadline = Clock::now() + timeout;
  for (;;) {
    std::array<pollfd, 3> set{pollfd{descriptor_.get(), events, 0},
                              pollfd{abort_.descriptor(), POLLIN, 0},
                              pollfd{signal != nullptr ? signal->descriptor() : -1, POLLIN, 0}};
    const auto left = std::chrono::ceil<Duration>(deadline - Clock::now());
    const int count = ::poll(set.data(), set.size(),
                             static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1 << 30)));
    if (count < 0 && errno != EINTR) {
      return Wait::gone;
    }
    if (count > 0) {
      if (set[1].revents != 0 || set[2].revents != 0) {
        return Wait::signalled;
      }
      return Wait::ready;  // an error shows in the call that follows
    }
    if (Clock::now() >= deadline) {
      return Wait::timed_out;
    }
  }
}

Wait HttpSocket::wait_readable(Duration timeout, const Signal* signal) const {
  return wait(POLLIN, timeout, signal);
}
Wait HttpSocket::wait_writable(Duration timeout) const { return wait(POLLOUT, timeout, nullptr); }

Wait HttpSocket::read_available(char* to, std::size_t max, std::size_t& got) const {
  got = 0;
  const ssize_t n = ::recv(descriptor_.get(), to, max, 0);
  if (n > 0) {
    got = static_cast<std::size_t>(n);
    return Wait::ready;
  }
  return n == 0 ? Wait::gone : wait_of_errno(errno);
}

Wait HttpSocket::read_available(std::string& out, std::size_t max) const {
  const std::size_t before = out.size();
  out.resize(before + std::min<std::size_t>(max, 16384));
  std::size_t got = 0;
  const Wait result = read_available(out.data() + before, out.size() - before, got);
  out.resize(before + got);
  return result;
}

Wait HttpSocket::write_available(const char* from, std::size_t size, std::size_t& written,
                                 bool more_follows) const {
  written = 0;
  const ssize_t n =
      ::send(descriptor_.get(), from, size, MSG_NOSIGNAL | (more_follows ? MSG_MORE : 0));
  if (n < 0) {
    return wait_of_errno(errno);
  }
  written = static_cast<std::size_t>(n);
  bytes_sent_ += written;
  return Wait::ready;
}

bool HttpSocket::write_all(std::string_view bytes, Duration progress_timeout,
                           bool more_follows) const {
  while (!bytes.empty()) {
    std::size_t written = 0;
    const Wait result = write_available(bytes.data(), bytes.size(), written, more_follows);
    bytes.remove_prefix(written);
    if (result == Wait::gone ||
        (result == Wait::timed_out && wait_writable(progress_timeout) != Wait::ready)) {
      return false;
    }
  }
  return true;
}

bool HttpSocket::send_stretch_of(int file, std::uint64_t offset, std::uint64_t length,
                                 Duration progress_timeout) const {
  auto at = static_cast<off_t>(offset);
  while (length > 0) {
    const ssize_t n =
        ::sendfile(descriptor_.get(), file, &at, std::min(length, k_most_sendfile_bytes));
    if (n == 0) {
      return false;  // the file was cut
    }
    if (n > 0) {
      length -= static_cast<std::uint64_t>(n);
      bytes_sent_ += static_cast<std::uint64_t>(n);
    } else if (wait_of_errno(errno) == Wait::gone) {
      return false;
    }
    if (length > 0 && wait_writable(progress_timeout) != Wait::ready) {
      return false;
    }
  }
  return true;
}

bool HttpSocket::send_file(const FileBody& body, Duration progress_timeout) const {
  if (const auto file = io::descriptor_of(*body.file)) {
    return send_stretch_of(*file, body.offset, body.length, progress_timeout);
  }
  std::vector<std::byte> piece(std::min<std::uint64_t>(body.length, k_piece_bytes));
  for (std::uint64_t done = 0; done < body.length;) {
    const std::span wanted(piece.data(), std::min<std::uint64_t>(piece.size(), body.length - done));
    const auto got = body.file->read_at(wanted, body.offset + done);
    if (!got || *got != wanted.size() ||
        !write_all({reinterpret_cast<const char*>(piece.data()), wanted.size()},
                   progress_timeout)) {
      return false;
    }
    done += wanted.size();
  }
  return true;
}

void HttpSocket::linger(Duration longest) const {
  ::shutdown(descriptor_.get(), SHUT_WR);
  const auto deadline = Clock::now() + longest;
  std::array<char, 16384> swallowed;
  for (;;) {
    const auto left = std::chrono::ceil<Duration>(deadline - Clock::now());
    std::size_t got = 0;
    if (left.count() <= 0 || wait_readable(left) != Wait::ready ||
        read_available(swallowed.data(), swallowed.size(), got) == Wait::gone) {
      return;
    }
  }
}

}  // namespace varve::serve
