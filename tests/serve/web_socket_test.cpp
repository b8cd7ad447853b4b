// SPDX-License-Identifier: MIT OR Apache-2.0
// WebSockets, spoken byte by byte.
#include <gtest/gtest.h>

#include <thread>

#include "serve/http_server.hpp"
#include "tests/serve/raw_client.hpp"

namespace varve::serve {
namespace {

using std::chrono::milliseconds;
using test::RawAnswer;
using test::RawClient;

// The key and its answer are those of RFC 6455.
constexpr std::string_view k_key = "dGhlIHNhbXBsZSBub25jZQ==";
constexpr std::string_view k_accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

// A client's frame, masked with zeros.
std::string frame(int opcode, std::string_view data, bool final = true) {
  std::string out{static_cast<char>((final ? 0x80 : 0) | opcode),
                  static_cast<char>(0x80 | data.size())};
  return out + std::string(4, '\0') + std::string(data);
}
std::string bare_frame(int opcode, std::string_view data) {
  return std::string{static_cast<char>(0x80 | opcode), static_cast<char>(data.size())} +
         std::string(data);
}
std::string close_frame(int code) {
  return {static_cast<char>(code >> 8), static_cast<char>(code & 255)};
}

class WebSocketTest : public ::testing::Test {
 protected:
  void start(WebSocketSession session, HttpServerOptions options = {}) {
    options.port = 0;
    server_ = std::make_unique<HttpServer>(std::move(options));
    WebSocketRoute route;
    route.path = "/stream";
    route.max_message_bytes = 100;
    route.subprotocol = "xrpc.v1.json";
    route.accept = [session = std::move(session)](
                       const HttpRequest& request) -> std::variant<HttpResponse, WebSocketSession> {
      if (request.parameter("refuse") != nullptr) {
        return HttpResponse{.status = 400, .headers = {}, .body = {}};
      }
      return session;
    };
    server_->add(std::move(route));
    ASSERT_TRUE(server_->start());
  }
  RawAnswer upgrade(RawClient& client, const std::string& target = "/stream",
                    const std::string& more = {}) {
    return client.get(target, "Upgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n" + more +
                                  "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " +
                                  std::string(k_key) + "\r\n");
  }
  static void echo(WebSocket& socket) {
    while (socket.open()) {
      auto message = socket.receive(milliseconds(10'000));
      if (!message || !*message || !socket.send((*message)->data, (*message)->binary)) {
        return;
      }
    }
  }
  std::unique_ptr<HttpServer> server_;
};

TEST_F(WebSocketTest, TheUpgradeIsAnsweredAsTheRfcSays) {
  start(echo);
  RawClient one(server_->port());
  const RawAnswer answer = upgrade(one, "/stream", "Sec-WebSocket-Protocol: a, xrpc.v1.json\r\n");
  EXPECT_EQ(answer.status, 101);
  EXPECT_EQ(answer.header("Sec-WebSocket-Accept"), k_accept);
  EXPECT_EQ(answer.header("Sec-WebSocket-Protocol"), "xrpc.v1.json");
  EXPECT_EQ(answer.header("Sec-WebSocket-Extensions"), "");
}

TEST_F(WebSocketTest, WhatIsNoUpgradeIsTold) {
  start(echo);
  EXPECT_EQ(RawClient(server_->port()).get("/stream").status, 426);
  EXPECT_EQ(RawClient(server_->port()).get("/stream?refuse=1").status, 400);
  RawClient refused(server_->port());
  EXPECT_EQ(upgrade(refused, "/stream?refuse=1").status, 400);
  RawClient foreign(server_->port());
  EXPECT_EQ(upgrade(foreign, "/stream", "Origin: https://evil.example\r\n").status, 403);
  RawClient own(server_->port());
  EXPECT_EQ(upgrade(own, "/stream", "Origin: http://localhost\r\n").status, 101);
}

TEST_F(WebSocketTest, MessagesPingsAndFragments) {
  start(echo);
  RawClient one(server_->port());
  ASSERT_EQ(upgrade(one).status, 101);
  one.send(frame(1, "hello") + frame(9, "ping") + frame(2, "binary"));
  // The pong may come between.
  const std::string all = one.take(7 + 6 + 8);
  EXPECT_NE(all.find(bare_frame(1, "hello")), std::string::npos);
  EXPECT_NE(all.find(bare_frame(10, "ping")), std::string::npos);
  EXPECT_NE(all.find(bare_frame(2, "binary")), std::string::npos);
  one.send(frame(1, "ab", false) + frame(0, "cd"));
  EXPECT_EQ(one.take(6), bare_frame(1, "abcd"));
  one.send(frame(8, close_frame(1000)));
  EXPECT_EQ(one.take(4), bare_frame(8, close_frame(1000)));
  EXPECT_TRUE(one.ended());
}

TEST_F(WebSocketTest, WrongFramesCloseWithTheirCode) {
  start(echo);
  const std::string unmasked = bare_frame(1, "x");
  const std::string reserved = '\xC1' + frame(1, "x").substr(1);
  // Announces 2^62 bytes and brings one.
  const std::string endless = std::string("\x82\xFF\x40", 3) + std::string(7 + 4, '\0') + 'x';
  const std::string opcode = '\x83' + frame(1, "x").substr(1);
  for (const auto& [bytes, code] :
       {std::pair(unmasked, 1002), std::pair(reserved, 1002), std::pair(opcode, 1002),
        std::pair(endless, 1009), std::pair(frame(1, std::string(101, 'x')), 1009),
        std::pair(frame(1, "\xFF"), 1007)}) {
    RawClient one(server_->port());
    ASSERT_EQ(upgrade(one).status, 101);
    one.send(bytes);
    const std::string answer = one.take(4);
    ASSERT_EQ(answer.size(), 4U);
    EXPECT_EQ(answer[0], '\x88');
    EXPECT_EQ(answer.substr(2, 2), close_frame(code));
  }
}

TEST_F(WebSocketTest, ASessionThatOnlySendsHearsOfTheEnd) {
  std::atomic<bool> done = false;
  start([&](WebSocket& socket) {
    while (socket.open() && socket.send("tick", false)) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    done = true;
  });
  RawClient one(server_->port());
  ASSERT_EQ(upgrade(one).status, 101);
  EXPECT_EQ(one.take(6), bare_frame(1, "tick"));
  one.send(frame(8, close_frame(1000)));
  one.take_all();
  EXPECT_TRUE(done);
}

TEST_F(WebSocketTest, PingsKeepItAlive) {
  HttpServerOptions options;
  options.ping_interval = milliseconds(20);
  start(echo, options);
  RawClient one(server_->port());
  ASSERT_EQ(upgrade(one).status, 101);
  EXPECT_EQ(one.take(4), bare_frame(9, "") + bare_frame(9, ""));
}

TEST_F(WebSocketTest, AFrameThatNobodyTakesEndsTheConnection) {
  HttpServerOptions options;
  options.frame_timeout = milliseconds(100);
  std::atomic<bool> failed = false;
  start(
      [&](WebSocket& socket) {
        const std::string large(1'000'000, 'x');
        while (socket.send(large, true)) {
        }
        failed = true;
      },
      options);
  RawClient one(server_->port(), 4096);
  ASSERT_EQ(upgrade(one).status, 101);
  while (!failed) {
    std::this_thread::sleep_for(milliseconds(5));
  }
}

TEST_F(WebSocketTest, ShuttingDownSaysGoingAway) {
  start(echo);
  RawClient one(server_->port());
  ASSERT_EQ(upgrade(one).status, 101);
  one.send(frame(1, "x"));
  EXPECT_EQ(one.take(3), bare_frame(1, "x"));
  std::jthread stopper([&] { server_->stop(std::chrono::seconds(20)); });
  const std::string end = one.take(4);
  ASSERT_EQ(end.size(), 4U);
  EXPECT_EQ(end[0], '\x88');
  EXPECT_EQ(end.substr(2), close_frame(1001));
}

}  // namespace
}  // namespace varve::serve
