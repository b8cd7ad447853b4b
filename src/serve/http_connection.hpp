// SPDX-License-Identifier: MIT OR Apache-2.0
// One connection of the server: reads requests one by one, has them answered, turns into a
// WebSocket where a route says so.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "serve/host_policy.hpp"
#include "serve/http_head.hpp"
#include "serve/http_server.hpp"
#include "serve/http_socket.hpp"
#include "serve/router.hpp"

namespace varve::serve {

// What all connections of a server share.
struct HttpShared {
  explicit HttpShared(HttpServerOptions chosen)
      : options(std::move(chosen)), hosts(options.address, options.allowed_hosts) {}
  HttpServerOptions options;
  HostPolicy hosts;
  Router router;
  Signal stopping;  // no new requests
  Signal abort;     // nothing at all
  std::atomic<std::uint64_t> open_sockets = 0;
};

class HttpConnection {
 public:
  HttpConnection(io::Descriptor descriptor, std::string peer, HttpShared& shared)
      : shared_(shared), socket_(std::move(descriptor), shared.abort), peer_(std::move(peer)) {}
  // Until the connection is over.
  void run();

 private:
  enum class Step : std::uint8_t { next, closed };

  Step serve_one(bool last);
  bool read_head(HttpHead& head, HeadFault& fault);
  // Reads the body; an answer refuses it (empty status 0: the connection is gone).
  std::optional<HttpResponse> read_body(HttpHead& head);
  std::optional<HttpResponse> read_sized(HttpHead& head);
  std::optional<HttpResponse> read_chunked(HttpHead& head);
  bool fill();
  bool read_line(std::string& line);

  std::optional<HttpResponse> refusal(const HttpHead& head, const Route* route) const;
  Step upgrade(const HttpHead& head, const Route& route);
  bool write_answer(const HttpResponse& answer, bool without_body, bool keep_alive);
  Step refuse(const HttpResponse& answer, std::string_view route);

  HttpShared& shared_;
  HttpSocket socket_;
  std::string peer_;
  std::string pending_;  // read and not yet used
};

// The bytes of an answer before its body.
std::string answer_head(const HttpResponse& answer, bool keep_alive);
// Calls the handler; an exception of it becomes a 500.
HttpResponse call_handler(const HttpHandler& handler, const HttpRequest& request);

}  // namespace varve::serve
