// SPDX-License-Identifier: MIT OR Apache-2.0
// The HTTP/1.1 server: a thread a connection, requests in order, answers with bytes of files sent
// by the system itself, WebSockets. Everything a client can make it hold is bounded by the options.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "serve/http.hpp"
#include "varve/result.hpp"

namespace varve::serve {

// What was answered, told when the answer has been sent or the connection broke.
struct HttpObservation {
  std::string_view route;             // as registered; empty for what has none
  int status = 0;                     // 101 for a WebSocket, told when it is over
  std::uint64_t bytes_sent = 0;       // of the answer, its head included
  std::chrono::nanoseconds handling;  // until the answer was ready to be sent; 0 for a WebSocket
};

struct HttpServerOptions {
  using Duration = std::chrono::milliseconds;
  std::string address = "127.0.0.1";  // or a name, or "::1"
  std::uint16_t port = 8480;          // 0: any free one
  // Names that a Host header may hold besides the address and those of loopback. On an address that
  // is not of loopback every name will do unless some are given.
  std::vector<std::string> allowed_hosts;
  // Whether pages of other origins may open WebSockets.
  bool cross_origin_sockets = false;

  std::size_t max_head_bytes = std::size_t{32} << 10;  // 431; 414 for the first line
  std::size_t max_body_bytes = std::size_t{2} << 20;   // 413
  std::size_t max_connections = 512;                   // beyond: 503 and the connection is closed
  std::size_t max_requests_a_connection = 100'000;
  Duration idle_timeout{60'000};      // between requests
  Duration head_timeout{30'000};      // from a head's first byte to its last: 408
  Duration progress_timeout{30'000};  // without a byte of a body read or of an answer taken
  Duration ping_interval{30'000};     // of WebSockets
  Duration frame_timeout{5'000};      // for writing one frame of a WebSocket
  // Called on the connections' threads.
  std::function<void(const HttpObservation&)> observer;
};

struct HttpCounts {
  std::uint64_t open_connections = 0;
  std::uint64_t open_sockets = 0;  // WebSockets
  std::uint64_t connections = 0;   // ever accepted
  std::uint64_t refused = 0;       // of them, beyond max_connections
};

class HttpServer {
 public:
  explicit HttpServer(HttpServerOptions options);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  // Stops without waiting for running answers.
  ~HttpServer();

  // Registration, before start(). Handlers are called from many threads at a time. A method that a
  // path is not registered for is answered with 405 and Allow, HEAD included; who registers HEAD
  // may give the whole answer, of which the body is then left out. "*": any method.
  void add(const std::string& method, const std::string& path, HttpHandler handler);
  // All paths beginning with `prefix` that have no route of their own; the longest prefix wins.
  void add_prefix(const std::string& method, const std::string& prefix, HttpHandler handler);
  void add(WebSocketRoute route);

  // Listens and begins to answer. Errors: io where the address cannot be had.
  Result<void> start();
  // The port in use, and "http://127.0.0.1:8480/"; after start().
  std::uint16_t port() const;
  std::string url() const;
  HttpCounts counts() const;

  // Accepts no more, closes idle connections and, with 1001, WebSockets; running answers are ended
  // after `grace`. Handlers are waited for. Called once, or never.
  void stop(std::chrono::milliseconds grace);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace varve::serve
