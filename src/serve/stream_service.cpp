// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/stream_service.hpp"

#include <limits>

#include "base/whole_number.hpp"
#include "serve/answers.hpp"
#include "serve/stream_options.hpp"

namespace varve::serve {

namespace {

// A v2 client may send nothing; a little of what it does send is read to refuse it by name.
constexpr std::size_t k_max_v2_message_bytes = 64 * 1024;

// The bounds of the moment; without look-back everything below the tip is out of reach.
StreamBounds bounds_of(const StreamTail::View& view, std::chrono::seconds look_back,
                       std::int64_t now_us) {
  StreamBounds out;
  out.next_seq = view.next_seq;
  if (look_back.count() == 0) {
    out.floor = StreamFloor{view.next_seq, std::numeric_limits<std::int64_t>::max()};
  } else {
    const auto back = std::chrono::duration_cast<std::chrono::microseconds>(look_back);
    out.floor = floor_of(*view.segments, now_us - back.count());
  }
  return out;
}

}  // namespace

Result<std::unique_ptr<StreamService>> StreamService::open(io::FileSystem& files,
                                                           const std::string& path,
                                                           StreamServiceOptions options) {
  VARVE_ASSIGN(StreamArchive archive, StreamArchive::open(files, path));
  std::unique_ptr<StreamService> out(new StreamService(std::move(archive), std::move(options)));
  for (const std::string& file : out->options_.dictionaries) {
    VARVE_TRY(out->dictionaries_.add(files, file));
  }
  VARVE_TRY(out->tail_.start());
  return out;
}

std::vector<WebSocketRoute> StreamService::routes() {
  return {route(StreamVersion::v2, k_stream_v2_path), route(StreamVersion::v1, k_stream_v1_path)};
}

WebSocketRoute StreamService::route(StreamVersion version, std::string path) {
  const bool v2 = version == StreamVersion::v2;
  WebSocketRoute out;
  out.path = std::move(path);
  out.max_message_bytes = v2 ? k_max_v2_message_bytes : k_max_options_bytes;
  out.subprotocol = v2 ? "xrpc.v1.json" : "";
  out.accept = [this, version](const HttpRequest& request) { return accept(version, request); };
  return out;
}

std::variant<HttpResponse, WebSocketSession> StreamService::accept(StreamVersion version,
                                                                   const HttpRequest& request) {
  StreamCounters& counters = counters_[static_cast<std::size_t>(version)];
  const auto refuse = [&](int status, const std::string& error, const std::string& message) {
    ++counters.refused;
    return error_answer(status, error, message);
  };
  auto wanted = parse_stream_request(version, request, dictionaries_);
  if (!wanted) {
    return refuse(400, wanted.error().error, wanted.error().message);
  }
  // Looked at once, so that the tip is that of the moment when the client came.
  const auto view = tail_.look_now();
  if (!view) {
    return refuse(500, "InternalServerError", "the archive cannot be read");
  }
  const std::int64_t now_us = options_.environment->now_us();
  const auto start =
      start_of(version, wanted->cursor, bounds_of(*view, options_.look_back, now_us), now_us);
  if (!start) {
    return refuse(400, start.error().error, start.error().message);
  }
  return WebSocketSession(
      [this, &counters, wanted = *std::move(wanted), start = *start](WebSocket& socket) {
        StreamSession(tail_, dictionaries_, options_.limits, counters, wanted, start).run(socket);
      });
}

HttpResponse StreamService::dictionary(const HttpRequest& request) const {
  int index = dictionaries_.current();
  if (const std::string* text = request.parameter("id")) {
    const auto id = base::whole_number<std::uint64_t>(*text);
    if (!id || *id == 0) {
      return error_answer(400, "InvalidRequest", "id is no integer from 1 on");
    }
    index = dictionaries_.find(*id);
  }
  if (index < 0) {
    return error_answer(404, "DictionaryNotFound",
                        "dictionaries of this server: " + dictionaries_.ids_text());
  }
  const base::ZstdDictionary& found = dictionaries_.at(static_cast<std::size_t>(index));
  const std::string id = std::to_string(found.id());
  HttpResponse out;
  out.headers = {{"Content-Type", "application/octet-stream"},
                 {"ETag", "\"zstd-dict-" + id + "\""},
                 {"Cache-Control", "public, max-age=31536000, immutable"},
                 {"X-Zstd-Dictionary-Id", id}};
  out.body.emplace_back(std::string(base::as_text(found.bytes())));
  return out;
}

}  // namespace varve::serve
