// SPDX-License-Identifier: MIT OR Apache-2.0
// One client of a stream, from its first frame to its last. Runs on the connection's own thread.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "serve/http.hpp"
#include "serve/stream_cursor.hpp"
#include "serve/stream_frames.hpp"
#include "serve/stream_reader.hpp"
#include "serve/stream_tail.hpp"

namespace varve::serve {

// What all clients of one kind of stream add up to.
struct StreamCounters {
  std::atomic<std::uint64_t> open = 0;         // now
  std::atomic<std::uint64_t> opened = 0;       // ever
  std::atomic<std::uint64_t> refused = 0;      // before the upgrade
  std::atomic<std::uint64_t> frames = 0;       // sent
  std::atomic<std::uint64_t> bytes = 0;        // of them
  std::atomic<std::uint64_t> blocks_read = 0;  // of the archive, by clients behind the kept blocks
  std::atomic<std::uint64_t> too_slow = 0;     // ended with ConsumerTooSlow
  std::atomic<std::uint64_t> failed = 0;       // ended with InternalError
};

struct StreamLimits {
  using Clock = std::chrono::steady_clock;
  // A client that is so far behind and gets on more slowly, for so long, is sent away.
  std::uint64_t max_behind_events = 100'000;
  std::uint64_t min_events_per_second = 5;
  std::chrono::seconds slow_period{60};
  // How long news are waited for before the client is listened to.
  std::chrono::milliseconds wait{100};
  // How often an archive that changes under the reader is tried again.
  int max_attempts = 5;
  std::function<Clock::time_point()> now = Clock::now;
};

class StreamSession {
 public:
  // All references outlive the session.
  StreamSession(StreamTail& tail, const StreamDictionaries& dictionaries,
                const StreamLimits& limits, StreamCounters& counters, StreamRequest request,
                const StreamStart& start);

  // Sends until the client goes, breaks a rule or is too slow, or the server stops.
  void run(WebSocket& socket);

 private:
  // Each: true to go on.
  bool greet();
  bool find_start();
  bool listen(std::chrono::milliseconds wait);
  bool take_message(const WebSocket::Message& message);
  bool serve_kept(LiveBlock& block);
  bool serve_archive();
  bool serve_block(const jss::BlockColumns& columns);
  bool send(const StreamFrame& frame);
  bool keeps_pace();

  bool wants(const jss::BlockColumns& columns, std::size_t row) const;
  // Listens now and then while rows are sent.
  bool listen_in_passing();
  // Ends the stream: the last frame (v2), then the closing one.
  bool end(std::string_view error, std::string_view message, std::uint16_t close_code);
  bool fail_with(const Error& error);

  StreamTail& tail_;
  const StreamLimits& limits_;
  StreamCounters& counters_;
  StreamRequest request_;
  StreamStart start_;
  FrameMaker maker_;
  StreamReader reader_;
  StreamFrame frame_;
  WebSocket* socket_ = nullptr;
  std::uint64_t next_seq_;  // the least that is still to be sent
  bool heard_hello_ = false;
  int attempts_ = 0;
  StreamLimits::Clock::time_point listened_at_;
  StreamLimits::Clock::time_point pace_since_;
  std::uint64_t pace_seq_ = 0;
};

}  // namespace varve::serve
