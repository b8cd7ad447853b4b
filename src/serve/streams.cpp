// SPDX-License-Identifier: MIT OR Apache-2.0
// The streams of the archive among the services of the server.
#include <algorithm>
#include <array>
#include <string>

#include "serve/answers.hpp"
#include "serve/context.hpp"
#include "serve/stream_service.hpp"

namespace varve::serve {

namespace {

using Counter = std::atomic<std::uint64_t> StreamCounters::*;
struct Count {
  const char* name;
  const char* help;
  Counter counter;
  bool grows;
};
constexpr std::array k_counts{
    Count{"clients", "Streams that are open.", &StreamCounters::open, false},
    Count{"opened_total", "Streams opened.", &StreamCounters::opened, true},
    Count{"refused_total", "Streams refused before the upgrade.", &StreamCounters::refused, true},
    Count{"frames_total", "Frames sent.", &StreamCounters::frames, true},
    Count{"bytes_total", "Bytes of the frames sent.", &StreamCounters::bytes, true},
    Count{"blocks_read_total", "Blocks of the archive read for clients behind the tail.",
          &StreamCounters::blocks_read, true},
    Count{"too_slow_total", "Streams ended with ConsumerTooSlow.", &StreamCounters::too_slow, true},
    Count{"failed_total", "Streams ended with InternalError.", &StreamCounters::failed, true}};

void add_gauges(Metrics& metrics, StreamService& service) {
  for (const StreamVersion version : {StreamVersion::v1, StreamVersion::v2}) {
    const std::string prefix =
        version == StreamVersion::v1 ? "varve_stream_v1_" : "varve_stream_v2_";
    const StreamCounters& counters = service.counters(version);
    for (const Count& count : k_counts) {
      const auto& value = counters.*count.counter;
      metrics.add({prefix + count.name, count.help,
                   [&value] { return static_cast<double>(value.load()); }, count.grows});
    }
  }
  metrics.add({"varve_stream_next_seq", "The number that the next event gets.",
               [&service] { return static_cast<double>(service.tail().next_seq()); }});
}

// An archive whose end cannot be read has no streams; whatever else the server does goes on.
void install_refusal(HttpServer& server, const Error& error) {
  for (const char* path : {k_stream_v2_path, k_stream_v1_path}) {
    WebSocketRoute route;
    route.path = path;
    route.accept = [reason = error.reason](const HttpRequest&) {
      return error_answer(503, "ServiceUnavailable",
                          "the end of the archive cannot be read: " + reason);
    };
    server.add(std::move(route));
  }
}

}  // namespace

Result<void> install_streams(ServeContext& context) {
  if (!context.archive) {
    return {};
  }
  StreamServiceOptions options;
  constexpr std::uint64_t k_most_seconds = std::uint64_t{100} * 366 * 24 * 3600;
  options.look_back = std::chrono::seconds(std::min(context.settings.look_back_s, k_most_seconds));
  options.dictionaries = context.settings.zstd_dictionaries;
  auto opened =
      StreamService::open(context.files, context.stores[*context.archive].path, std::move(options));
  if (!opened) {
    if (opened.error().code == ErrorCode::invalid_argument) {
      return std::unexpected(std::move(opened).error());  // a dictionary that is none
    }
    install_refusal(context.server, opened.error());
    return {};
  }
  const std::shared_ptr<StreamService> service = *std::move(opened);
  for (WebSocketRoute& route : service->routes()) {
    context.server.add(std::move(route));
  }
  context.server.add("GET", k_dictionary_path, [&at = *service](const HttpRequest& request) {
    return at.dictionary(request);
  });
  add_gauges(context.metrics, *service);
  context.kept.push_back(service);
  return {};
}

}  // namespace varve::serve
