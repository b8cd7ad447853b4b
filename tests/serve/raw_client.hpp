// SPDX-License-Identifier: MIT OR Apache-2.0
// A client that sends exactly the bytes a test wants, and reads answers back.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "serve/http.hpp"

namespace varve::test {

struct RawAnswer {
  int status = 0;  // 0: the connection ended before a whole head came
  serve::HeaderMap headers;
  std::string body;
  bool whole = false;  // the body has the length that was announced
  std::string header(std::string_view name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? std::string() : found->second;
  }
};

class RawClient {
 public:
  explicit RawClient(std::uint16_t port, int receive_buffer = 0)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_buffer != 0) {
      ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      ::close(fd_);
      throw std::runtime_error("connect");
    }
  }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;
  ~RawClient() { ::close(fd_); }

  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) {
        return;  // the server has closed: its answer tells
      }
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  void end_sending() { ::shutdown(fd_, SHUT_WR); }

  // Reads more; false at the end of the connection or after 20 s of silence.
  bool fill(std::size_t most = 65536) {
    pollfd set{fd_, POLLIN, 0};
    if (::poll(&set, 1, 20'000) != 1) {
      return false;
    }
    const std::size_t before = buffer_.size();
    buffer_.resize(before + most);
    const ssize_t n = ::recv(fd_, buffer_.data() + before, most, 0);
    buffer_.resize(before + static_cast<std::size_t>(n > 0 ? n : 0));
    return n > 0;
  }
  // Exactly that many bytes, or fewer if the connection ends.
  std::string take(std::size_t size) {
    while (buffer_.size() < size && fill()) {
    }
    std::string out = buffer_.substr(0, size);
    buffer_.erase(0, out.size());
    return out;
  }
  std::string take_all() {
    while (fill()) {
    }
    return std::exchange(buffer_, {});
  }
  bool ended() { return buffer_.empty() && !fill(); }

  RawAnswer answer(bool without_body = false) {
    RawAnswer out;
    std::size_t end = 0;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
      if (!fill()) {
        return out;
      }
    }
    std::string head = take(end + 4);
    out.status = std::atoi(head.c_str() + 9);
    for (std::size_t at = head.find("\r\n") + 2; at + 2 < head.size();) {
      const std::size_t line_end = head.find("\r\n", at);
      const std::size_t colon = head.find(": ", at);
      out.headers.emplace(head.substr(at, colon - at),
                          head.substr(colon + 2, line_end - colon - 2));
      at = line_end + 2;
    }
    const std::string length = out.header("Content-Length");
    const std::size_t size = without_body || length.empty() ? 0 : std::stoull(length);
    out.body = take(size);
    out.whole = out.body.size() == size;
    return out;
  }
  RawAnswer ask(std::string_view request) {
    send(request);
    return answer();
  }
  RawAnswer get(const std::string& target, const std::string& headers = {}) {
    return ask("GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n");
  }
  RawAnswer post(const std::string& target, const std::string& body) {
    return ask("POST " + target + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
               std::to_string(body.size()) + "\r\n\r\n" + body);
  }

 private:
  int fd_;
  std::string buffer_;
};

}  // namespace varve::test
