// SPDX-License-Identifier: MIT OR Apache-2.0
// The HTTP client of remote archives: connections that are kept open and used again, time limits,
// bounded bodies, and the rules of section 17.5 on what is tried again. Knows no protocol above
// HTTP.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "serve/http.hpp"
#include "varve/result.hpp"

namespace varve::serve {

// True if a STORE is to be read over HTTP: "http://..." or "https://...".
bool is_remote(std::string_view store);

// A remote archive's address, taken apart.
struct RemoteAddress {
  std::string origin;     // "http://127.0.0.1:8080"
  std::string base_path;  // "" or "/mirror/a": stands before "/xrpc/"
  std::string segment;    // the name of a segment if the address ends in one

  // ErrorCode::invalid_argument for what is no http(s) address, has a user name, query or fragment.
  static Result<RemoteAddress> parse(const std::string& url);
  // The archive's address without a slash at the end.
  std::string archive_url() const { return origin + base_path; }
};

struct RemoteOptions {
  std::string api_key;  // sent as a bearer token; never printed
  std::chrono::milliseconds connect_timeout{10'000};
  // The longest silence of a server, and the time until the head of an answer must have come.
  std::chrono::milliseconds read_timeout{30'000};
  std::chrono::milliseconds first_pause{500};       // before the second attempt; then twice as long
  std::chrono::milliseconds longest_pause{30'000};  // also of what a server asks for
  unsigned attempts = 5;                            // of one request
  unsigned connections = 64;                        // at once
  // Stops waiting between attempts when it says true; may be null.
  std::function<bool()> interrupted;
};

struct RemoteRequest {
  std::string method = "GET";
  std::string target;  // path and query behind the origin, encoded
  HeaderMap headers;
  std::string body;             // JSON, of a POST
  std::uint64_t max_bytes = 0;  // of the answer's body; a longer one is refused
};

struct RemoteAnswer {
  int status = 0;
  HeaderMap headers;
  std::string body;  // empty if a receiver took it

  const std::string* header(std::string_view name) const;
};

// Why one attempt gave nothing, and whether another one may.
struct RemoteFailure {
  Error error;
  bool may_pass = false;                               // a network error, 5xx, 429
  std::optional<std::chrono::milliseconds> wait = {};  // asked for by the server
};

// Takes the body of an answer as it arrives, instead of RemoteAnswer::body.
struct BodyReceiver {
  // Called once, with status 200 or 206 and the headers. An error ends the answer and is final.
  std::function<Result<void>(const RemoteAnswer&)> begin;
  std::function<Result<void>(std::string_view piece)> take;
};

// Thread-safe.
class HttpClient {
 public:
  // Error unsupported for https where this build has no TLS.
  static Result<std::unique_ptr<HttpClient>> create(const RemoteAddress& address,
                                                    RemoteOptions options);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  const RemoteOptions& options() const;

  // One attempt. Answers of status 200, 206 and 416 are answers, all others failures.
  std::expected<RemoteAnswer, RemoteFailure> attempt(const RemoteRequest& request,
                                                     const BodyReceiver* receiver = nullptr);
  // As many attempts as the options allow.
  Result<RemoteAnswer> send(const RemoteRequest& request);

 private:
  struct Impl;
  explicit HttpClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The pauses between the attempts of one request.
class RetryPauses {
 public:
  explicit RetryPauses(const RemoteOptions& options) : options_(options) {}
  // Waits before the next attempt; false if there is none.
  bool wait_after(const RemoteFailure& failure);
  // Something was achieved: the attempts count anew.
  void begin_again() { made_ = 0; }

 private:
  const RemoteOptions& options_;
  unsigned made_ = 0;
};

// Percent-encodes everything but letters, digits and "-._~".
std::string encode_in_query(std::string_view text);

}  // namespace varve::serve
