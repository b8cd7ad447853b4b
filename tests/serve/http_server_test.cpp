// SPDX-License-Identifier: MIT OR Apache-2.0
// The transport: requests as clients send them, hostile ones too, and the end of the server.
#include "serve/http_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "serve/answers.hpp"
#include "tests/serve/raw_client.hpp"
#include "tests/support.hpp"

namespace varve::serve {
namespace {

using std::chrono::milliseconds;
using test::RawAnswer;
using test::RawClient;
using ::testing::HasSubstr;

constexpr std::string_view k_hello = "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n";

HttpServerOptions small_options() {
  HttpServerOptions options;
  options.port = 0;
  options.max_head_bytes = 2000;
  options.max_body_bytes = 1000;
  return options;
}

class HttpServerTest : public ::testing::Test {
 protected:
  void start(HttpServerOptions options) {
    server_ = std::make_unique<HttpServer>(std::move(options));
    server_->add("GET", "/hello",
                 [](const HttpRequest&) { return text_answer("hello", "text/plain"); });
    server_->add("POST", "/echo", [](const HttpRequest& request) {
      return text_answer(request.body, "application/octet-stream");
    });
    server_->add("GET", "/seen", [](const HttpRequest& request) {
      const std::string* name = request.parameter("name");
      return text_answer(name != nullptr ? *name : "none", "text/plain");
    });
    server_->add("GET", "/file", [this](const HttpRequest&) {
      auto file =
          io::posix_file_system().open_file((scratch_ / "file").string(), io::OpenMode::read);
      HttpResponse out;
      const std::uint64_t size = (*file)->identity()->size_bytes;
      out.body.emplace_back("<");
      out.body.emplace_back(FileBody{std::shared_ptr<io::File>(*std::move(file)), 0, size});
      out.body.emplace_back(">");
      return out;
    });
    server_->add_prefix("GET", "/pages/", [](const HttpRequest& request) {
      return text_answer(request.path, "text/plain");
    });
    server_->add("GET", "/throws", [](const HttpRequest&) -> HttpResponse {
      throw std::runtime_error("nobody expected that");
    });
    ASSERT_TRUE(server_->start());
  }
  RawClient client() { return RawClient(server_->port()); }

  test::ScratchDirectory scratch_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, AnswersSeveralRequestsOnOneConnection) {
  start(small_options());
  RawClient one = client();
  for (int i = 0; i < 3; ++i) {
    const RawAnswer answer = one.ask(k_hello);
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, "hello");
    EXPECT_EQ(answer.header("Connection"), "keep-alive");
  }
  EXPECT_EQ(one.get("/seen?other=1&name=a%20b+c").body, "a b c");
  EXPECT_EQ(one.get("/pages/a/b").body, "/pages/a/b");
  EXPECT_EQ(one.get("/throws").status, 500);
  EXPECT_EQ(one.get("/nowhere").status, 404);
  EXPECT_EQ(server_->counts().connections, 1U);
}

TEST_F(HttpServerTest, AnswersPipelinedRequestsInOrder) {
  start(small_options());
  RawClient one = client();
  std::string all;
  for (int i = 0; i < 20; ++i) {
    all += "GET /seen?name=" + std::to_string(i) + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  }
  one.send(all);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(one.answer().body, std::to_string(i));
  }
}

TEST_F(HttpServerTest, OtherMethodsAreToldWhatIsAllowed) {
  start(small_options());
  RawClient one = client();
  one.send("HEAD /hello HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const RawAnswer head = one.answer(true);
  EXPECT_EQ(head.status, 405);
  EXPECT_EQ(head.header("Allow"), "GET");
  EXPECT_EQ(client().post("/hello", "x").status, 405);
  EXPECT_EQ(client().get("/echo").header("Allow"), "POST");
}

TEST_F(HttpServerTest, BodiesComeWholeOrInChunks) {
  start(small_options());
  RawClient one = client();
  EXPECT_EQ(one.post("/echo", std::string(1000, 'x')).body, std::string(1000, 'x'));
  const std::string head =
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(one.ask(head + "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nTrailer: t\r\n\r\n").body, "abcde");
  EXPECT_EQ(one.post("/echo", "again").body, "again");
  EXPECT_EQ(one.post("/echo", std::string(1001, 'x')).status, 413);
  EXPECT_TRUE(one.ended());
  EXPECT_EQ(client().ask(head + "3E9\r\n").status, 413);
  EXPECT_EQ(client().ask(head + "FFFFFFFFFFFFFFFFF\r\n").status, 400);
  EXPECT_EQ(client().ask(head + "-1\r\n").status, 400);
  EXPECT_EQ(client().ask(head + "1\r\nabc\r\n").status, 400);
}

TEST_F(HttpServerTest, AClientMayWaitForTheGoAhead) {
  start(small_options());
  RawClient one = client();
  one.send(
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nExpect: "
      "100-continue\r\n\r\n");
  EXPECT_EQ(one.take(25), "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_EQ(one.ask("ok").body, "ok");
}

TEST_F(HttpServerTest, HostileRequestsAreRefused) {
  start(small_options());
  const std::string host = "Host: localhost\r\n";
  const std::vector<std::pair<std::string, int>> cases{
      {std::string("\0\1\2\r\n\r\n", 7), 400},
      {"GET /hello\r\n\r\n", 400},
      {"GET /hello HTTP/2.0\r\n" + host + "\r\n", 505},
      {"GET hello HTTP/1.1\r\n" + host + "\r\n", 400},
      {"GET /%zz HTTP/1.1\r\n" + host + "\r\n", 400},
      {"GET /%00 HTTP/1.1\r\n" + host + "\r\n", 400},
      {"GET /hello HTTP/1.1\n" + host + "\n", 400},
      {"GET /hello HTTP/1.1\r\n\r\n", 400},
      {"GET /hello HTTP/1.1\r\n" + host + host + "\r\n", 400},
      {"GET /hello HTTP/1.1\r\n" + host + "a b: c\r\n\r\n", 400},
      {"GET /hello HTTP/1.1\r\n" + host + "a : c\r\n\r\n", 400},
      {"GET /hello HTTP/1.1\r\n" + host + " folded\r\n\r\n", 400},
      {"GET /hello HTTP/1.1\r\n" + host + "a: \x01\r\n\r\n", 400},
      {"POST /echo HTTP/1.1\r\n" + host + "Content-Length: -1\r\n\r\n", 400},
      {"POST /echo HTTP/1.1\r\n" + host + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 400},
      {"POST /echo HTTP/1.1\r\n" + host + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
       400},
      {"POST /echo HTTP/1.1\r\n" + host + "Transfer-Encoding: gzip\r\n\r\n", 501},
      {"POST /echo HTTP/1.1\r\n" + host + "Content-Length: 99999999999999999999\r\n\r\n", 400},
      {"POST /echo HTTP/1.1\r\n" + host + "Content-Length: 9999999999999999999\r\n\r\n", 413},
      {"GET /hello HTTP/1.1\r\n" + host + "Expect: miracles\r\n\r\n", 417},
      {"GET /hello HTTP/1.1\r\n" + host + "a: " + std::string(3000, 'x'), 431},
      {"GET /" + std::string(3000, 'x'), 414},
      {"GET /hello HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421},
  };
  for (const auto& [request, status] : cases) {
    RawClient one = client();
    EXPECT_EQ(one.ask(request).status, status) << request;
  }
  EXPECT_EQ(client().ask(k_hello).status, 200);
}

TEST_F(HttpServerTest, AHalfClosedConnectionIsStillAnswered) {
  start(small_options());
  RawClient one = client();
  one.send(k_hello);
  one.end_sending();
  EXPECT_EQ(one.answer().body, "hello");
  EXPECT_TRUE(one.ended());
  RawClient half = client();
  half.send("GET /hel");
  half.end_sending();
  EXPECT_TRUE(half.ended());
}

TEST_F(HttpServerTest, FilesAreSentBetweenTexts) {
  const std::string content(3'000'000, 'f');
  test::write_file(scratch_ / "file", content);
  start(small_options());
  const RawAnswer answer = client().get("/file");
  EXPECT_TRUE(answer.whole);
  EXPECT_TRUE(answer.body == "<" + content + ">");
}

TEST_F(HttpServerTest, AFileThatShrinksCutsTheConnection) {
  test::write_file(scratch_ / "file", std::string(64'000'000, 'f'));
  start(small_options());
  RawClient one(server_->port(), 4096);
  one.send("GET /file HTTP/1.1\r\nHost: localhost\r\n\r\n");
  one.take(1000);
  std::filesystem::resize_file(scratch_ / "file", 1000);
  EXPECT_LT(one.take_all().size(), 60'000'000U);
  EXPECT_EQ(client().ask(k_hello).status, 200);
}

TEST_F(HttpServerTest, AReplacedFileIsSentAsItWas) {
  test::write_file(scratch_ / "file", std::string(30'000'000, 'a'));
  start(small_options());
  RawClient one(server_->port(), 4096);
  one.send("GET /file HTTP/1.1\r\nHost: localhost\r\n\r\n");
  one.fill(10);
  test::write_file(scratch_ / "new", std::string(30'000'000, 'b'));
  std::filesystem::rename(scratch_ / "new", scratch_ / "file");
  const RawAnswer answer = one.answer();
  EXPECT_TRUE(answer.whole);
  EXPECT_EQ(answer.body.find('b'), std::string::npos);
}

TEST_F(HttpServerTest, ASlowClientIsCutUnlessItGoesOn) {
  HttpServerOptions options = small_options();
  options.head_timeout = milliseconds(200);
  options.progress_timeout = milliseconds(500);
  test::write_file(scratch_ / "file", std::string(30'000'000, 'a'));
  start(options);
  RawClient slow_head = client();
  slow_head.send("GET /hel");
  EXPECT_EQ(slow_head.answer().status, 408);
  RawClient slow_body = client();
  slow_body.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n");
  EXPECT_TRUE(slow_body.ended());
  RawClient takes_nothing(server_->port(), 4096);
  takes_nothing.send("GET /file HTTP/1.1\r\nHost: localhost\r\n\r\n");
  while (server_->counts().open_connections != 0) {
    std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_LT(takes_nothing.take_all().size(), 30'000'000U);
  RawClient progressing = client();
  progressing.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 8\r\n\r\n");
  for (int i = 0; i < 8; ++i) {
    std::this_thread::sleep_for(milliseconds(100));
    progressing.send("x");
  }
  EXPECT_EQ(progressing.answer().body, "xxxxxxxx");
}

TEST_F(HttpServerTest, TwoHundredClientsAtATime) {
  start(small_options());
  std::atomic<int> good = 0;
  {
    std::vector<std::jthread> clients;
    for (int i = 0; i < 200; ++i) {
      clients.emplace_back([&] {
        RawClient one = client();
        for (int k = 0; k < 5; ++k) {
          good += one.ask(k_hello).body == "hello" ? 1 : 0;
        }
      });
    }
  }
  EXPECT_EQ(good, 1000);
}

TEST_F(HttpServerTest, BeyondTheLimitConnectionsAreSentAway) {
  HttpServerOptions options = small_options();
  options.max_connections = 2;
  start(options);
  RawClient a = client();
  RawClient b = client();
  EXPECT_EQ(a.ask(k_hello).status, 200);
  EXPECT_EQ(b.ask(k_hello).status, 200);
  RawClient c = client();
  const RawAnswer refused = c.answer();
  EXPECT_EQ(refused.status, 503);
  EXPECT_FALSE(refused.header("Retry-After").empty());
  EXPECT_TRUE(c.ended());
  EXPECT_EQ(server_->counts().refused, 1U);
}

TEST_F(HttpServerTest, AConnectionEndsAfterItsLastRequest) {
  HttpServerOptions options = small_options();
  options.max_requests_a_connection = 2;
  start(options);
  RawClient one = client();
  EXPECT_EQ(one.ask(k_hello).header("Connection"), "keep-alive");
  EXPECT_EQ(one.ask(k_hello).header("Connection"), "close");
  EXPECT_TRUE(one.ended());
}

TEST_F(HttpServerTest, StoppingLetsARunningAnswerFinish) {
  test::write_file(scratch_ / "file", std::string(30'000'000, 'a'));
  start(small_options());
  RawClient idle = client();
  EXPECT_EQ(idle.ask(k_hello).status, 200);
  RawClient busy(server_->port(), 4096);
  busy.send("GET /file HTTP/1.1\r\nHost: localhost\r\n\r\n");
  busy.fill(10);
  std::jthread stopper([&] { server_->stop(std::chrono::seconds(20)); });
  EXPECT_TRUE(idle.ended());
  EXPECT_TRUE(busy.answer().whole);
}

TEST_F(HttpServerTest, StoppingCutsAnAnswerThatTakesTooLong) {
  test::write_file(scratch_ / "file", std::string(30'000'000, 'a'));
  start(small_options());
  RawClient busy(server_->port(), 4096);
  busy.send("GET /file HTTP/1.1\r\nHost: localhost\r\n\r\n");
  busy.fill(10);
  server_->stop(milliseconds(20));
  EXPECT_FALSE(busy.answer().whole);
}

}  // namespace
}  // namespace varve::serve
