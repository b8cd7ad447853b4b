// SPDX-License-Identifier: MIT OR Apache-2.0
// Requests and answers as the services see them. Only the transport (http_server.cpp) knows the
// library below it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "varve/file_system.hpp"
#include "varve/result.hpp"

namespace varve::serve {

// Letters outside ASCII have no other case here.
constexpr char ascii_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Orders header names without regard to the case of ASCII letters.
struct HeaderOrder {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const;
};
using HeaderMap = std::multimap<std::string, std::string, HeaderOrder>;

struct HttpRequest {
  std::string method;                                  // upper case, as it came
  std::string path;                                    // decoded, without the query
  std::multimap<std::string, std::string> parameters;  // of the query, decoded, in order
  HeaderMap headers;
  std::string body;
  std::string peer;  // "address:port"

  // The first value, or nullptr.
  const std::string* parameter(const std::string& name) const;
  const std::string* header(std::string_view name) const;
};

// A stretch of an open file as an answer's body: sent without passing through memory where the
// system can.
struct FileBody {
  std::shared_ptr<io::File> file;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

struct HttpResponse {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers;  // without Content-Length
  // Sent one after the other; text and stretches of files may alternate (multipart ranges).
  std::vector<std::variant<std::string, FileBody>> body;
};

using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

// A connection that speaks WebSocket. One thread may send while another receives.
class WebSocket {
 public:
  struct Message {
    bool binary = false;
    std::string data;
  };
  virtual ~WebSocket() = default;
  // Sends one whole message. Error io where it could not be written within the server's limit (5 s)
  // or the connection is gone; the connection is over then.
  virtual Result<void> send(std::string_view data, bool binary) = 0;
  // The next whole data message; nothing where none came in time. Pings are answered, pongs
  // swallowed. Error io once the connection is over, limit for a message above the route's.
  virtual Result<std::optional<Message>> receive(std::chrono::milliseconds wait) = 0;
  // Sends a closing frame; the session should end then.
  virtual void close(std::uint16_t code, std::string_view reason) = 0;
  // False once either side has closed, or the server is shutting down.
  virtual bool open() const = 0;
};

// Runs on the connection's own thread until it returns; the connection is closed then.
using WebSocketSession = std::function<void(WebSocket&)>;

struct WebSocketRoute {
  std::string path;
  std::size_t max_message_bytes = 0;  // of what the client sends
  // Looks at the request before the upgrade: an answer refuses it.
  std::function<std::variant<HttpResponse, WebSocketSession>(const HttpRequest&)> accept;
  // Chosen if the client offers it; empty: none.
  std::string subprotocol;
};

}  // namespace varve::serve
