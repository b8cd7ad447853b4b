// SPDX-License-Identifier: MIT OR Apache-2.0
// The streams over real sockets: what a program of a client sees on the wire.
#include <gtest/gtest.h>

#include "raw_client.hpp"
#include "serve/context.hpp"
#include "stream_support.hpp"
#include "varve/jss.hpp"

namespace varve::serve {
namespace {

using test::seq_of;
using varve::test::RawClient;
using varve::test::ScratchDirectory;

// A server of an archive that the test writes.
class StreamServer {
 public:
  StreamServer() {
    EXPECT_TRUE(jss::Writer::create(io::posix_file_system(), path.string()));
    writer = jss::Writer::open(io::posix_file_system(), path.string(),
                               {.threads = 1, .block_rows = 10, .rotation_bytes = 3000})
                 .value();
    append(30);
    ServeSettings settings;
    settings.look_back_s = std::uint64_t{100} * 365 * 24 * 3600;
    ServeContext context{.server = server,
                         .metrics = metrics,
                         .files = io::posix_file_system(),
                         .settings = settings,
                         .stores = {ServedStore{"archive", path.string(), {}}},
                         .archive = 0};
    EXPECT_TRUE(install_status_pages(context));
    const auto installed = install_streams(context);
    EXPECT_TRUE(installed) << installed.error().text();
    kept = std::move(context.kept);
    EXPECT_TRUE(server.start());
  }
  ~StreamServer() { server.stop(std::chrono::milliseconds(0)); }
  void append(int rows) {
    for (int i = 0; i < rows; ++i) {
      const std::string did = "did:plc:abc" + std::to_string(writer->next_seq());
      jss::Event event;
      event.kind = 3;
      event.witnessed_at = 1'783'000'000'000'000;
      event.did = did;
      event.collection = "app.bsky.feed.post";
      event.rkey = "self";
      event.rev = "3mptbypluud22";
      EXPECT_TRUE(writer->append(event));
    }
    EXPECT_TRUE(writer->flush());
  }

  ScratchDirectory scratch;
  std::filesystem::path path = scratch / "archive";
  std::unique_ptr<jss::Writer> writer;
  Metrics metrics;
  std::vector<std::shared_ptr<void>> kept;
  HttpServer server{[] {
    HttpServerOptions options;
    options.port = 0;
    return options;
  }()};
};

class StreamClient {
 public:
  StreamClient(const StreamServer& to, const std::string& target) : raw_(to.server.port()) {
    raw_.send("GET " + target +
              " HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
              "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
              "Sec-WebSocket-Protocol: xrpc.v1.json\r\n\r\n");
    while (head.find("\r\n\r\n") == std::string::npos) {
      const std::string byte = raw_.take(1);
      if (byte.empty()) {
        break;
      }
      head += byte;
    }
  }
  bool upgraded() const { return head.starts_with("HTTP/1.1 101"); }
  // The next data frame, or the two bytes of a closing one's code after "close ".
  std::string next() {
    for (;;) {
      const std::string start = raw_.take(2);
      if (start.size() != 2) {
        return "end";
      }
      const auto byte = [](char c) {
        return static_cast<std::size_t>(static_cast<std::uint8_t>(c));
      };
      std::size_t size = byte(start[1]) & 127;
      if (size == 126) {
        const std::string more = raw_.take(2);
        size = byte(more.at(0)) << 8 | byte(more.at(1));
      }
      std::string data = raw_.take(size);
      const std::size_t opcode = byte(start[0]) & 15;
      if (opcode == 8) {
        return "close " + std::to_string(data.size() < 2 ? 0 : byte(data[0]) << 8 | byte(data[1]));
      }
      if (opcode == 1 || opcode == 2) {
        return data;
      }
    }
  }
  void send(std::string_view bytes) { raw_.send(bytes); }

  std::string head;

 private:
  RawClient raw_;
};

constexpr const char* k_v2 = k_stream_v2_path;

TEST(StreamSocket, HistoryThenLiveThroughRotation) {
  StreamServer server;
  StreamClient v2(server, std::string(k_v2) + "?cursor=1");
  StreamClient v1(server, "/subscribe?cursor=11");
  ASSERT_TRUE(v2.upgraded()) << v2.head;
  ASSERT_TRUE(v1.upgraded()) << v1.head;
  EXPECT_NE(v2.head.find("Sec-WebSocket-Protocol: xrpc.v1.json"), std::string::npos);
  for (int i = 0; i < 40; ++i) {
    server.append(7);
  }
  EXPECT_GT(server.writer->sealed_segments().size(), 1U);
  for (std::uint64_t seq = 1; seq <= 310; ++seq) {
    ASSERT_EQ(seq_of(v2.next()), seq);
    if (seq >= 11) {
      ASSERT_EQ(seq_of(v1.next()), seq);
    }
  }
  EXPECT_NE(server.metrics.text().find("varve_stream_v2_frames_total 310\n"), std::string::npos)
      << server.metrics.text();
}

TEST(StreamSocket, RefusalsComeBeforeTheUpgrade) {
  StreamServer server;
  for (const char* query :
       {"?cursor=-1", "?kinds=x", "?wantedDids=did:plc:a", "?zstdDictionary=5", "?compress=true"}) {
    const StreamClient client(server, std::string(k_v2) + query);
    EXPECT_TRUE(client.head.starts_with("HTTP/1.1 400")) << query << client.head;
  }
}

TEST(StreamSocket, WhoSaysWhatWasNotAgreedIsClosed) {
  StreamServer server;
  const struct {
    std::string path;
    std::string bytes;
  } unwanted[] = {
      {k_v2, std::string("\x81\x82\0\0\0\0{}", 8)},          // a message on v2
      {"/subscribe", std::string("\x81\x82\0\0\0\0{}", 8)},  // no options_update
  };
  for (const auto& one : unwanted) {
    StreamClient client(server, one.path);
    ASSERT_TRUE(client.upgraded()) << client.head;
    client.send(one.bytes);
    const std::string last = client.next();
    EXPECT_TRUE(last.starts_with("close 10") || last == "end") << last;
  }
  StreamClient still(server, std::string(k_v2) + "?cursor=30");
  EXPECT_EQ(seq_of(still.next()), 30U) << "others do not notice";
}

}  // namespace
}  // namespace varve::serve
