// SPDX-License-Identifier: MIT OR Apache-2.0
// The two live streams of a jss archive, to be registered with the server (spec section 19):
// `/xrpc/network.bsky.jetstream.subscribeEvents` and `/subscribe`, and the dictionaries that they
// are compressed with.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "serve/http.hpp"
#include "serve/stream_session.hpp"
#include "varve/file_system.hpp"

namespace varve::serve {

inline constexpr const char* k_stream_v1_path = "/subscribe";
inline constexpr const char* k_stream_v2_path = "/xrpc/network.bsky.jetstream.subscribeEvents";
inline constexpr const char* k_dictionary_path = "/xrpc/network.bsky.jetstream.getZstdDictionary";

struct StreamServiceOptions {
  // How far back cursors reach; 0: nowhere, streams begin at the tip.
  std::chrono::seconds look_back = std::chrono::hours(36);
  std::vector<std::string> dictionaries;  // files
  StreamTailOptions tail;
  StreamLimits limits;
  io::Environment* environment = &io::system_environment();  // the wall clock
};

class StreamService {
 public:
  // Finds the end of the archive and begins to follow it. Errors: those of opening a store; damage
  // at its end; invalid_argument for a file that is no dictionary.
  static Result<std::unique_ptr<StreamService>> open(io::FileSystem& files, const std::string& path,
                                                     StreamServiceOptions options);

  // The routes refer to the service, which the server must not outlive.
  std::vector<WebSocketRoute> routes();
  // Answers network.bsky.jetstream.getZstdDictionary (section 19.4).
  HttpResponse dictionary(const HttpRequest& request) const;
  StreamTail& tail() { return tail_; }
  const StreamCounters& counters(StreamVersion version) const {
    return counters_[static_cast<std::size_t>(version)];
  }

 private:
  StreamService(StreamArchive archive, StreamServiceOptions options)
      : options_(std::move(options)), tail_(std::move(archive), options_.tail) {}
  WebSocketRoute route(StreamVersion version, std::string path);
  std::variant<HttpResponse, WebSocketSession> accept(StreamVersion version,
                                                      const HttpRequest& request);

  StreamServiceOptions options_;
  StreamDictionaries dictionaries_;
  StreamTail tail_;
  std::array<StreamCounters, 2> counters_;  // by version
};

}  // namespace varve::serve
