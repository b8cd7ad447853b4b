// SPDX-License-Identifier: MIT OR Apache-2.0
// What the tests of streams share: requests, a client without a network, dictionaries.
#pragma once

#include <gtest/gtest.h>
#include <zdict.h>
#include <zstd.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "serve/stream_service.hpp"
#include "tests/jss/fixture_rows.hpp"
#include "tests/support.hpp"

namespace varve::serve::test {

// Of "a=1&b=2", taken as it stands.
inline HttpRequest request_of(const std::string& query) {
  HttpRequest out;
  out.method = "GET";
  for (std::size_t at = 0; at < query.size();) {
    const std::size_t end = std::min(query.find('&', at), query.size());
    const std::string pair = query.substr(at, end - at);
    const std::size_t split = pair.find('=');
    out.parameters.emplace(pair.substr(0, split), pair.substr(split + 1));
    at = end + 1;
  }
  return out;
}

// A structured dictionary over texts as the streams have them.
inline std::string make_dictionary(std::uint32_t id) {
  std::string content;
  for (int i = 0; i < 64; ++i) {
    content +=
        R"({"$type":"message","payload":{"$type":"network.bsky.jetstream.subscribeEvents#commit",)"
        R"("collection":"app.bsky.feed.post","did":"did:plc:)" +
        std::to_string(i * 7919) + R"(","operation":"create","record":{"text":"hello"}}})";
  }
  const std::vector<std::size_t> sizes(64, content.size() / 64);
  std::string out(content.size() + 4096, '\0');
  ZDICT_params_t parameters{};
  parameters.dictID = id;
  const std::size_t size =
      ZDICT_finalizeDictionary(out.data(), out.size(), content.data(), content.size(),
                               content.data(), sizes.data(), 64, parameters);
  EXPECT_EQ(ZDICT_isError(size), 0U) << ZDICT_getErrorName(size);
  out.resize(ZDICT_isError(size) != 0 ? 0 : size);
  return out;
}

// The text in a message that is one whole zstd frame made with that dictionary.
inline std::string decompressed(const std::string& frame, const std::string& dictionary) {
  EXPECT_EQ(ZSTD_findFrameCompressedSize(frame.data(), frame.size()), frame.size());
  EXPECT_EQ(ZSTD_getDictID_fromFrame(frame.data(), frame.size()),
            ZSTD_getDictID_fromDict(dictionary.data(), dictionary.size()));
  std::string out(1 << 20, '\0');
  ZSTD_DCtx* context = ZSTD_createDCtx();
  const std::size_t size =
      ZSTD_decompress_usingDict(context, out.data(), out.size(), frame.data(), frame.size(),
                                dictionary.data(), dictionary.size());
  ZSTD_freeDCtx(context);
  EXPECT_EQ(ZSTD_isError(size), 0U) << ZSTD_getErrorName(size);
  out.resize(ZSTD_isError(size) != 0 ? 0 : size);
  return out;
}

// The seq of a frame that is a row. The relay's own seq of a marker stands within the payload,
// before the row's.
inline std::uint64_t seq_of(const std::string& frame) {
  const std::string key = frame.starts_with("{\"$type\"") ? "\"seq\":" : "\"cursor\":";
  const std::size_t at = frame.rfind(key);
  return at == std::string::npos ? 0 : std::stoull(frame.substr(at + key.size()));
}

// A client: takes what it is sent, until it has had enough.
class FakeSocket final : public WebSocket {
 public:
  Result<void> send(std::string_view data, bool binary) override {
    const std::lock_guard lock(mutex_);
    if (over_) {
      return fail(ErrorCode::io, "gone", "the client is gone");
    }
    sent_.push_back({binary, std::string(data)});
    if (on_send) {
      on_send();
    }
    over_ = sent_.size() >= leave_after ||
            (leave_at_seq != 0 && seq_of(sent_.back().data) >= leave_at_seq);
    changed_.notify_all();
    return {};
  }
  Result<std::optional<Message>> receive(std::chrono::milliseconds /*wait*/) override {
    std::unique_lock lock(mutex_);
    ++looks_;
    changed_.notify_all();
    if (!inbox_.empty()) {
      Message out = std::move(inbox_.front());
      inbox_.pop_front();
      return out;
    }
    if (over_) {
      return fail(ErrorCode::io, "gone", "the client is gone");
    }
    return std::nullopt;
  }
  void close(std::uint16_t code, std::string_view reason) override {
    const std::lock_guard lock(mutex_);
    close_code = code;
    close_reason = reason;
    over_ = true;
    changed_.notify_all();
  }
  bool open() const override {
    const std::lock_guard lock(mutex_);
    return !over_;
  }

  // The client's side.
  void say(std::string data, bool binary = false) {
    const std::lock_guard lock(mutex_);
    inbox_.push_back({binary, std::move(data)});
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }
  std::vector<Message> sent() const {
    const std::lock_guard lock(mutex_);
    return sent_;
  }
  // Waits (long, if it must) until so many messages came.
  bool wait_for(std::size_t messages) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), [&] {
      return sent_.size() >= messages || over_;
    }) && sent_.size() >= messages;
  }
  // Waits until what was said before this call has been looked at.
  void wait_until_heard() {
    std::unique_lock lock(mutex_);
    const std::uint64_t before = looks_;
    changed_.wait_for(lock, std::chrono::seconds(60),
                      [&] { return (inbox_.empty() && looks_ >= before + 2) || over_; });
  }

  std::size_t leave_after = SIZE_MAX;  // set before the session begins, as are the next two
  std::uint64_t leave_at_seq = 0;
  std::function<void()> on_send;
  std::uint16_t close_code = 0;  // read after the session has ended
  std::string close_reason;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Message> sent_;
  std::deque<Message> inbox_;
  std::uint64_t looks_ = 0;
  bool over_ = false;
};

// A stream of a service, served to a fake socket on a thread of its own.
class FakeClient {
 public:
  FakeClient(StreamService& service, StreamVersion version, const std::string& query,
             std::size_t leave_after = SIZE_MAX, std::function<void()> on_send = {},
             std::uint64_t leave_at_seq = 0) {
    socket.leave_after = leave_after;
    socket.leave_at_seq = leave_at_seq;
    socket.on_send = std::move(on_send);
    auto accepted =
        service.routes()[version == StreamVersion::v2 ? 0 : 1].accept(request_of(query));
    if (auto* refused = std::get_if<HttpResponse>(&accepted)) {
      status = refused->status;
      answer = std::get<std::string>(refused->body.at(0));
      socket.leave();
      return;
    }
    thread_ = std::jthread(
        [this, session = std::get<WebSocketSession>(std::move(accepted))] { session(socket); });
  }
  ~FakeClient() { socket.leave(); }
  // Waits for the end of the session.
  void join() {
    if (thread_.joinable()) {
      thread_.join();
    }
  }

  FakeSocket socket;
  int status = 101;
  std::string answer;  // of a refusal

 private:
  std::jthread thread_;  // last: it uses the socket
};

}  // namespace varve::serve::test
