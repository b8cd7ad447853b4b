// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/stream_session.hpp"

#include <cerrno>
#include <utility>

#include "jss/block_builder.hpp"
#include "serve/stream_options.hpp"

namespace varve::serve {

namespace {

using std::chrono::milliseconds;

// Closing codes of RFC 6455, section 7.4.1.
constexpr std::uint16_t k_policy_violation = 1008;
constexpr std::uint16_t k_message_too_big = 1009;
constexpr std::uint16_t k_internal_error = 1011;

constexpr milliseconds k_listen_interval{100};

// Worth another try with a new look at the archive.
bool passes(const Error& error) {
  return error.code == ErrorCode::locked ||
         (error.code == ErrorCode::io && error.system_errno == ENOENT);
}

}  // namespace

StreamSession::StreamSession(StreamTail& tail, const StreamDictionaries& dictionaries,
                             const StreamLimits& limits, StreamCounters& counters,
                             StreamRequest request, const StreamStart& start)
    : tail_(tail),
      limits_(limits),
      counters_(counters),
      request_(std::move(request)),
      start_(start),
      maker_(dictionaries),
      reader_(tail.archive()),
      next_seq_(start.seq) {}

void StreamSession::run(WebSocket& socket) {
  socket_ = &socket;
  ++counters_.opened;
  ++counters_.open;
  pace_since_ = listened_at_ = limits_.now();
  pace_seq_ = next_seq_;
  bool going = greet() && find_start();
  while (going && socket.open()) {
    StreamTail::News news = tail_.next(next_seq_, limits_.wait);
    switch (news.kind) {
      case StreamTail::News::Kind::block:
        going = serve_kept(*news.block);
        break;
      case StreamTail::News::Kind::behind:
        going = serve_archive();
        break;
      case StreamTail::News::Kind::failed:
        going = fail_with(*news.error);
        break;
      case StreamTail::News::Kind::nothing:
        going = listen(milliseconds(0));
        break;
    }
  }
  --counters_.open;
}

bool StreamSession::greet() {
  if (start_.outdated) {
    maker_.wrap(stream_info_text("OutdatedCursor",
                                 "the cursor is older than what is replayed; the stream begins "
                                 "with seq " +
                                     std::to_string(start_.seq)),
                request_.form, frame_);
    if (!send(frame_)) {
      return false;
    }
  }
  while (request_.require_hello && !heard_hello_) {
    if (!socket_->open() || !listen(limits_.wait)) {
      return false;
    }
  }
  return true;
}

bool StreamSession::find_start() {
  if (!start_.time) {
    return true;
  }
  for (;;) {
    const StreamTail::View view = tail_.view();
    const auto found = find_time(tail_.archive(), view, start_.seq, *start_.time);
    if (found) {
      next_seq_ = found->value_or(std::max(view.next_seq, start_.seq));
      pace_seq_ = next_seq_;
      attempts_ = 0;
      return true;
    }
    if (!passes(found.error()) || ++attempts_ > limits_.max_attempts || !tail_.look_now()) {
      return fail_with(found.error());
    }
  }
}

bool StreamSession::listen(milliseconds wait) {
  listened_at_ = limits_.now();
  auto message = socket_->receive(wait);
  if (!message) {
    if (message.error().code == ErrorCode::limit) {
      socket_->close(k_message_too_big, "the message is too large");
    }
    return false;
  }
  return !*message || take_message(**message);
}

bool StreamSession::listen_in_passing() {
  return limits_.now() - listened_at_ < k_listen_interval || listen(milliseconds(0));
}

bool StreamSession::take_message(const WebSocket::Message& message) {
  if (request_.form.version == StreamVersion::v2) {
    socket_->close(k_policy_violation, "this stream takes no messages");
    return false;
  }
  auto filter = parse_options_update(message.data);
  if (!filter) {
    socket_->close(k_policy_violation, filter.error());
    return false;
  }
  if (*filter) {
    request_.filter = **std::move(filter);
    heard_hello_ = true;
    if (reader_.begun()) {
      reader_.end();  // its blocks were chosen by the filter of before
    }
  }
  return true;
}

bool StreamSession::wants(const jss::BlockColumns& columns, std::size_t row) const {
  return columns.seq[row] >= next_seq_ &&
         request_.filter.rows.wants(columns.kind[row], columns.did.at(row),
                                    columns.collection.at(row));
}

bool StreamSession::serve_kept(LiveBlock& block) {
  const jss::BlockColumns& columns = block.block.columns;
  for (std::size_t row = 0; row < columns.rows; ++row) {
    if (wants(columns, row) && !send(block.frame(row, request_.form, maker_))) {
      return false;
    }
    next_seq_ = std::max(next_seq_, columns.seq[row] + 1);
    if (!listen_in_passing()) {
      return false;
    }
  }
  return keeps_pace();
}

bool StreamSession::serve_archive() {
  if (!reader_.begun()) {
    jss::RowQuery query;
    query.filter = request_.filter.rows;
    query.seq_first = next_seq_;
    reader_.begin(tail_.view(), std::move(query));
  }
  const auto columns = reader_.next();
  if (!columns) {
    if (passes(columns.error()) && ++attempts_ <= limits_.max_attempts && tail_.look_now()) {
      return true;
    }
    return fail_with(columns.error());
  }
  attempts_ = 0;
  if (*columns == nullptr) {
    next_seq_ = std::max(next_seq_, reader_.through_seq());
    return listen_in_passing() && keeps_pace();
  }
  ++counters_.blocks_read;
  return serve_block(**columns);
}

bool StreamSession::serve_block(const jss::BlockColumns& columns) {
  for (std::size_t row = 0; row < columns.rows; ++row) {
    if (wants(columns, row)) {
      maker_.make(jss::event_at(columns, row), request_.form, frame_);
      if (!send(frame_)) {
        return false;
      }
    }
    next_seq_ = std::max(next_seq_, columns.seq[row] + 1);
    if (!listen_in_passing()) {
      return false;
    }
  }
  return keeps_pace();
}

bool StreamSession::send(const StreamFrame& frame) {
  const std::uint32_t most = request_.filter.max_message_bytes;
  if (frame.data.empty() || (most != 0 && frame.text_bytes > most)) {
    return true;
  }
  if (!socket_->send(frame.data, request_.form.dictionary >= 0)) {
    return false;
  }
  ++counters_.frames;
  counters_.bytes += frame.data.size();
  return keeps_pace();
}

bool StreamSession::keeps_pace() {
  const auto now = limits_.now();
  const std::uint64_t tip = tail_.next_seq();
  if (tip <= next_seq_ || tip - next_seq_ <= limits_.max_behind_events) {
    pace_since_ = now;
    pace_seq_ = next_seq_;
    return true;
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - pace_since_);
  if (seconds < limits_.slow_period) {
    return true;
  }
  if (next_seq_ - pace_seq_ <
      limits_.min_events_per_second * static_cast<std::uint64_t>(seconds.count())) {
    ++counters_.too_slow;
    return end("ConsumerTooSlow",
               std::to_string(tip - next_seq_) + " events behind, and getting on by less than " +
                   std::to_string(limits_.min_events_per_second) + " a second",
               k_policy_violation);
  }
  pace_since_ = now;
  pace_seq_ = next_seq_;
  return true;
}

bool StreamSession::end(std::string_view error, std::string_view message,
                        std::uint16_t close_code) {
  if (request_.form.version == StreamVersion::v2) {
    maker_.wrap(stream_error_text(error, message), request_.form, frame_);
    if (!socket_->send(frame_.data, request_.form.dictionary >= 0)) {
      return false;
    }
  }
  socket_->close(close_code, error);
  return false;
}

bool StreamSession::fail_with(const Error& error) {
  ++counters_.failed;
  // The names of files in the archive are public; where it lies is not.
  const std::string file = io::split_path(error.path).name;
  return end(
      "InternalError",
      "the archive cannot be read at " + (file.empty() ? "some place" : file) + ": " + error.reason,
      k_internal_error);
}

}  // namespace varve::serve
