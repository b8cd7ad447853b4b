// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/web_socket.hpp"

#include <openssl/evp.h>
#include <wslay/wslay.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>

#include "base/text_coding.hpp"
#include "serve/answers.hpp"

namespace varve::serve {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// How much of the client's is taken in at a time, and how often a session that only sends looks.
constexpr std::size_t k_most_bytes_a_look = std::size_t{64} << 10;
constexpr milliseconds k_look_interval{100};
constexpr milliseconds k_close_wait{1'000};

std::unexpected<Error> over(std::string reason, std::string message) {
  return fail(ErrorCode::io, std::move(reason), std::move(message));
}

class Session final : public WebSocket {
 public:
  Session(const HttpSocket& socket, std::string pending, std::size_t max_message_bytes,
          const HttpServerOptions& options, const Signal& stopping);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() override { wslay_event_context_free(context_); }
  bool valid() const { return context_ != nullptr; }

  Result<void> send(std::string_view data, bool binary) override;
  Result<std::optional<Message>> receive(milliseconds wait) override;
  void close(std::uint16_t code, std::string_view reason) override;
  bool open() const override { return !over_ && !stopping_.raised(); }

  // Sends what is still to be said, closes, and waits a moment for the client's own closing frame.
  void finish();

 private:
  static Session& of(void* user) { return *static_cast<Session*>(user); }
  static ssize_t on_read(wslay_event_context_ptr context, std::uint8_t* to, std::size_t size,
                         int flags, void* user);
  static ssize_t on_write(wslay_event_context_ptr context, const std::uint8_t* from,
                          std::size_t size, int flags, void* user);
  static void on_message(wslay_event_context_ptr context,
                         const wslay_event_on_msg_recv_arg* message, void* user);

  // The rest is called with the mutex held.
  Result<void> flush();
  Result<void> look();  // takes in what the client sent, as far as there is room
  Result<void> keep_up();
  void queue_close(std::uint16_t code, std::string_view reason);

  const HttpSocket& socket_;
  const HttpServerOptions& options_;
  const Signal& stopping_;
  std::size_t max_message_bytes_;
  std::string pending_;
  wslay_event_context_ptr context_ = nullptr;
  std::mutex mutex_;
  std::deque<Message> inbox_;
  std::size_t room_ = 0;  // of the look that is under way
  Clock::time_point last_look_ = Clock::now();
  Clock::time_point last_ping_ = Clock::now();
  std::atomic<bool> over_ = false;  // either side has closed, or the connection broke
};

Session::Session(const HttpSocket& socket, std::string pending, std::size_t max_message_bytes,
                 const HttpServerOptions& options, const Signal& stopping)
    : socket_(socket),
      options_(options),
      stopping_(stopping),
      max_message_bytes_(max_message_bytes),
      pending_(std::move(pending)) {
  const wslay_event_callbacks callbacks{on_read, on_write, nullptr,   nullptr,
                                        nullptr, nullptr,  on_message};
  if (wslay_event_context_server_init(&context_, &callbacks, this) != 0) {
    context_ = nullptr;
    return;
  }
  wslay_event_config_set_max_recv_msg_length(context_, max_message_bytes);
}

ssize_t Session::on_read(wslay_event_context_ptr context, std::uint8_t* to, std::size_t size,
                         int /*flags*/, void* user) {
  Session& self = of(user);
  size = std::min(size, self.room_);
  if (size == 0 || !self.inbox_.empty()) {
    wslay_event_set_error(context, WSLAY_ERR_WOULDBLOCK);
    return -1;
  }
  std::size_t got = 0;
  Wait result = Wait::ready;
  if (!self.pending_.empty()) {
    got = std::min(size, self.pending_.size());
    std::memcpy(to, self.pending_.data(), got);
    self.pending_.erase(0, got);
  } else {
    result = self.socket_.read_available(reinterpret_cast<char*>(to), size, got);
  }
  self.room_ -= got;
  if (result != Wait::ready) {
    wslay_event_set_error(
        context, result == Wait::timed_out ? WSLAY_ERR_WOULDBLOCK : WSLAY_ERR_CALLBACK_FAILURE);
    return -1;
  }
  return static_cast<ssize_t>(got);
}

ssize_t Session::on_write(wslay_event_context_ptr context, const std::uint8_t* from,
                          std::size_t size, int flags, void* user) {
  std::size_t written = 0;
  const Wait result = of(user).socket_.write_available(reinterpret_cast<const char*>(from), size,
                                                       written, (flags & WSLAY_MSG_MORE) != 0);
  if (result != Wait::ready) {
    wslay_event_set_error(
        context, result == Wait::timed_out ? WSLAY_ERR_WOULDBLOCK : WSLAY_ERR_CALLBACK_FAILURE);
    return -1;
  }
  return static_cast<ssize_t>(written);
}

void Session::on_message(wslay_event_context_ptr /*context*/,
                         const wslay_event_on_msg_recv_arg* message, void* user) {
  if (message->opcode == WSLAY_TEXT_FRAME || message->opcode == WSLAY_BINARY_FRAME) {
    const auto* data = reinterpret_cast<const char*>(message->msg);
    of(user).inbox_.push_back({message->opcode == WSLAY_BINARY_FRAME,
                               std::string(data, data == nullptr ? 0 : message->msg_length)});
  }
}

Result<void> Session::flush() {
  const auto deadline = Clock::now() + options_.frame_timeout;
  while (wslay_event_want_write(context_) != 0) {
    if (wslay_event_send(context_) != 0) {
      over_ = true;
      return over("gone", "the connection is gone");
    }
    if (wslay_event_want_write(context_) != 0) {
      const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
      if (left.count() <= 0 || socket_.wait_writable(left) != Wait::ready) {
        over_ = true;
        return over("timeout", "a frame could not be written in time");
      }
    }
  }
  return {};
}

Result<void> Session::look() {
  last_look_ = Clock::now();
  room_ = k_most_bytes_a_look;
  if (wslay_event_want_read(context_) != 0 && wslay_event_recv(context_) != 0) {
    over_ = true;
    return over("gone", "the connection is gone");
  }
  VARVE_TRY(flush());  // pongs, and the answer to a closing frame
  if (wslay_event_get_close_sent(context_) != 0 &&
      wslay_event_get_status_code_sent(context_) == WSLAY_CODE_MESSAGE_TOO_BIG) {
    over_ = true;
    return fail(ErrorCode::limit, "message",
                "a message has more than " + std::to_string(max_message_bytes_) + " bytes");
  }
  if (wslay_event_get_close_received(context_) != 0 || wslay_event_want_read(context_) == 0) {
    over_ = true;
  }
  return {};
}

void Session::queue_close(std::uint16_t code, std::string_view reason) {
  reason = reason.substr(0, 123);  // what a control frame holds
  wslay_event_queue_close(context_, code, reinterpret_cast<const std::uint8_t*>(reason.data()),
                          reason.size());
}

// What is due whether the session sends or receives: the end of the server, and pings.
Result<void> Session::keep_up() {
  if (over_) {
    return over("closed", "the connection is over");
  }
  if (stopping_.raised()) {
    queue_close(WSLAY_CODE_GOING_AWAY, "the server is shutting down");
    VARVE_TRY(flush());
    over_ = true;
    return over("shutdown", "the server is shutting down");
  }
  if (Clock::now() - last_ping_ >= options_.ping_interval) {
    last_ping_ = Clock::now();
    const wslay_event_msg ping{WSLAY_PING, nullptr, 0};
    wslay_event_queue_msg(context_, &ping);
    VARVE_TRY(flush());
  }
  return {};
}

Result<void> Session::send(std::string_view data, bool binary) {
  const std::lock_guard lock(mutex_);
  VARVE_TRY(keep_up());
  if (inbox_.empty() && Clock::now() - last_look_ >= k_look_interval) {
    VARVE_TRY(look());
    VARVE_TRY(keep_up());
  }
  const auto opcode = static_cast<std::uint8_t>(binary ? WSLAY_BINARY_FRAME : WSLAY_TEXT_FRAME);
  const wslay_event_msg message{opcode, reinterpret_cast<const std::uint8_t*>(data.data()),
                                data.size()};
  if (wslay_event_queue_msg(context_, &message) != 0) {
    over_ = true;
    return over("closed", "the connection is closing");
  }
  return flush();
}

Result<std::optional<WebSocket::Message>> Session::receive(milliseconds wait) {
  const auto deadline = Clock::now() + wait;
  for (bool looked = false;; looked = true) {
    milliseconds left{};
    {
      const std::lock_guard lock(mutex_);
      if (inbox_.empty()) {
        VARVE_TRY(keep_up());
        VARVE_TRY(look());
      }
      if (!inbox_.empty()) {
        Message message = std::move(inbox_.front());
        inbox_.pop_front();
        return message;
      }
      VARVE_TRY(keep_up());
      const auto due = std::min(deadline, last_ping_ + options_.ping_interval);
      left = std::chrono::ceil<milliseconds>(due - Clock::now());
      if (looked && Clock::now() >= deadline) {
        return std::nullopt;
      }
    }
    if (left.count() > 0) {
      socket_.wait_readable(left, &stopping_);
    }
  }
}

void Session::close(std::uint16_t code, std::string_view reason) {
  const std::lock_guard lock(mutex_);
  if (!over_) {
    queue_close(code, reason);
    static_cast<void>(flush());  // over either way
    over_ = true;
  }
}

void Session::finish() {
  close(stopping_.raised() ? WSLAY_CODE_GOING_AWAY : WSLAY_CODE_NORMAL_CLOSURE, "");
  const std::lock_guard lock(mutex_);
  const auto deadline = Clock::now() + k_close_wait;
  while (wslay_event_get_close_received(context_) == 0 && wslay_event_want_read(context_) != 0) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
    inbox_.clear();
    room_ = k_most_bytes_a_look;
    if (left.count() <= 0 || socket_.wait_readable(left) != Wait::ready ||
        wslay_event_recv(context_) != 0) {
      return;
    }
  }
}

// What the client's key is answered with (RFC 6455, section 4.2.2).
std::string accept_key(const std::string& key) {
  const std::string text = key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  std::array<std::byte, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), reinterpret_cast<unsigned char*>(digest.data()), &size,
             EVP_sha1(), nullptr);
  return base::to_base64({digest.data(), size}) + "=";  // of 20 bytes
}

bool header_has(const HttpRequest& request, std::string_view name, std::string_view token) {
  const auto [begin, end] = request.headers.equal_range(name);
  return std::any_of(begin, end,
                     [&](const auto& header) { return has_token(header.second, token); });
}

}  // namespace

HttpResponse web_socket_answer(const HttpRequest& request, const std::string& subprotocol) {
  const std::string* version = request.header("Sec-WebSocket-Version");
  const std::string* key = request.header("Sec-WebSocket-Key");
  if (!header_has(request, "Upgrade", "websocket") ||
      !header_has(request, "Connection", "upgrade") || version == nullptr || *version != "13") {
    HttpResponse answer = error_answer(426, "this is a WebSocket (version 13)");
    answer.headers.emplace_back("Upgrade", "websocket");
    answer.headers.emplace_back("Sec-WebSocket-Version", "13");
    return answer;
  }
  const auto raw = key != nullptr ? base::from_base64(*key) : std::nullopt;
  if (!raw || raw->size() != 16) {
    return error_answer(400, "Sec-WebSocket-Key is no 16 bytes of base64");
  }
  HttpResponse answer;
  answer.status = 101;
  answer.headers = {{"Upgrade", "websocket"},
                    {"Connection", "Upgrade"},
                    {"Sec-WebSocket-Accept", accept_key(*key)}};
  if (!subprotocol.empty() && header_has(request, "Sec-WebSocket-Protocol", subprotocol)) {
    answer.headers.emplace_back("Sec-WebSocket-Protocol", subprotocol);
  }
  return answer;
}

void run_web_socket(const HttpSocket& socket, std::string pending, std::size_t max_message_bytes,
                    const HttpServerOptions& options, const Signal& stopping,
                    const WebSocketSession& session) {
  Session connection(socket, std::move(pending), max_message_bytes, options, stopping);
  if (!connection.valid()) {
    return;
  }
  try {
    session(connection);
  } catch (const std::exception&) {
    connection.close(WSLAY_CODE_INTERNAL_SERVER_ERROR, "the server failed");
  }
  connection.finish();
}

}  // namespace varve::serve
