// SPDX-License-Identifier: MIT OR Apache-2.0
// Whole streams of archives, to clients without a network.
#include <gtest/gtest.h>

#include "io/fixed_environment.hpp"
#include "stream_support.hpp"
#include "varve/jss.hpp"

namespace varve::serve {
namespace {

using jss::test::canonical_json;
using test::FakeClient;
using test::seq_of;
using varve::test::ScratchDirectory;
constexpr auto v1 = StreamVersion::v1;
constexpr auto v2 = StreamVersion::v2;
constexpr std::int64_t k_time = 1'783'000'000'000'000;

StreamServiceOptions wide_open() {
  StreamServiceOptions options;
  options.look_back = std::chrono::hours(24 * 365 * 100);
  options.tail.poll = std::chrono::milliseconds(2);
  options.limits.wait = std::chrono::milliseconds(2);
  return options;
}

std::unique_ptr<StreamService> open_service(const std::filesystem::path& path,
                                            StreamServiceOptions options = wide_open()) {
  auto out = StreamService::open(io::posix_file_system(), path.string(), std::move(options));
  EXPECT_TRUE(out) << out.error().text();
  return out ? *std::move(out) : nullptr;
}

std::vector<std::string> published(const char* name) {
  std::vector<std::string> lines = jss::test::lines_of(jss::test::fixture(name));
  std::ranges::transform(lines, lines.begin(), canonical_json);
  return lines;
}

// An archive of one's own, written row by row.
class TestArchive {
 public:
  explicit TestArchive(jss::WriterOptions options = {.threads = 1, .block_rows = 10}) {
    EXPECT_TRUE(jss::Writer::create(io::posix_file_system(), path.string()));
    auto opened = jss::Writer::open(io::posix_file_system(), path.string(), options);
    EXPECT_TRUE(opened) << opened.error().text();
    writer = *std::move(opened);
  }
  void append(int rows) {
    for (int i = 0; i < rows; ++i) {
      jss::Event event;
      event.kind = 3;
      event.witnessed_at = k_time + static_cast<std::int64_t>(writer->next_seq());
      const bool even = writer->next_seq() % 2 == 0;
      event.did = even ? "did:plc:even" : "did:plc:odd";
      event.collection = even ? "app.bsky.feed.post" : "app.bsky.graph.follow";
      event.rkey = "self";
      event.rev = "3mptbypluud22";
      EXPECT_TRUE(writer->append(event));
    }
    EXPECT_TRUE(writer->flush());
  }
  ScratchDirectory scratch;
  std::filesystem::path path = scratch / "archive";
  std::unique_ptr<jss::Writer> writer;
};

std::vector<std::uint64_t> seqs_of(const test::FakeSocket& socket) {
  std::vector<std::uint64_t> out;
  for (const auto& message : socket.sent()) {
    out.push_back(seq_of(message.data));
  }
  return out;
}

std::vector<std::uint64_t> range(std::uint64_t first, std::uint64_t last, std::uint64_t step = 1) {
  std::vector<std::uint64_t> out;
  for (; first <= last; first += step) {
    out.push_back(first);
  }
  return out;
}

TEST(StreamSession, AllKindsAreSentAsPublished) {
  VARVE_REQUIRE_SHARED();
  for (const char* store : {"all_kinds.jss", "active.jss"}) {
    const auto service = open_service(jss::test::fixture(store));
    for (const StreamVersion version : {v1, v2}) {
      const auto expected = published(version == v1 ? "all_kinds.v1.jsonl" : "all_kinds.v2.jsonl");
      FakeClient client(*service, version, "cursor=0", expected.size());
      client.join();
      std::vector<std::string> sent;
      for (const auto& message : client.socket.sent()) {
        EXPECT_FALSE(message.binary);
        sent.push_back(canonical_json(message.data));
      }
      EXPECT_EQ(sent, expected) << store;
    }
  }
}

TEST(StreamSession, CompressedFramesHoldTheSameTexts) {
  VARVE_REQUIRE_SHARED();
  const ScratchDirectory scratch;
  StreamServiceOptions options = wide_open();
  std::map<std::uint32_t, std::string> dictionaries;
  for (const std::uint32_t id : {std::uint32_t{20260811}, k_legacy_dictionary_id}) {
    dictionaries[id] = test::make_dictionary(id);
    const auto path = scratch / std::to_string(id);
    varve::test::write_file(path, dictionaries[id]);
    options.dictionaries.push_back(path.string());
  }
  const auto service = open_service(jss::test::fixture("all_kinds.jss"), std::move(options));
  const struct {
    StreamVersion version;
    const char* query;
    const char* published;
    std::uint32_t id;
  } streams[] = {{v2, "cursor=0&zstdDictionary=20260811", "all_kinds.v2.jsonl", 20260811},
                 {v1, "cursor=0&compress=true", "all_kinds.v1.jsonl", k_legacy_dictionary_id}};
  for (const auto& stream : streams) {
    const auto expected = published(stream.published);
    FakeClient client(*service, stream.version, stream.query, expected.size());
    client.join();
    std::vector<std::string> sent;
    for (const auto& message : client.socket.sent()) {
      EXPECT_TRUE(message.binary);
      sent.push_back(canonical_json(test::decompressed(message.data, dictionaries[stream.id])));
    }
    EXPECT_EQ(sent, expected);
  }
  // The dictionary that clients fetch.
  const auto fetched = service->dictionary(test::request_of("id=20260811"));
  EXPECT_EQ(fetched.status, 200);
  EXPECT_EQ(std::get<std::string>(fetched.body.at(0)), dictionaries[20260811]);
  EXPECT_EQ(service->dictionary(test::request_of("id=1")).status, 404);
  EXPECT_EQ(service->dictionary(test::request_of("id=0")).status, 400);
  EXPECT_EQ(service->dictionary({}).headers.at(1).second, "\"zstd-dict-20260811\"");
}

TEST(StreamSession, TheLiveTipIsWhatComesAfterTheSubscription) {
  TestArchive archive;
  archive.append(25);
  StreamServiceOptions options = wide_open();
  options.tail.poll = std::chrono::hours(1);  // what was appended is seen because a client comes
  const auto service = open_service(archive.path, std::move(options));
  archive.append(5);
  FakeClient client(*service, v2, "", 10);
  FakeClient beyond(*service, v1, "cursor=1000000", 10);
  archive.append(10);
  ASSERT_TRUE(service->tail().look_now());
  client.join();
  beyond.join();
  EXPECT_EQ(seqs_of(client.socket), range(31, 40));
  EXPECT_EQ(seqs_of(beyond.socket), range(31, 40));
}

TEST(StreamSession, CursorsReachIntoSealedAndActiveSegments) {
  TestArchive archive({.threads = 1, .block_rows = 7});
  archive.append(50);
  ASSERT_TRUE(archive.writer->seal());
  archive.append(30);
  const auto service = open_service(archive.path);
  const struct {
    std::string query;
    std::vector<std::uint64_t> seqs;
  } cases[] = {
      {"cursor=1", range(1, 80)},
      {"cursor=33", range(33, 80)},
      {"cursor=51", range(51, 80)},
      {"cursor=70", range(70, 80)},
      {"cursor=" + std::to_string(k_time + 20), range(20, 80)},
      {"cursor=" + std::to_string(k_time + 66), range(66, 80)},
      {"cursor=30&dids=did:plc:even", range(30, 80, 2)},
      {"cursor=30&collections=app.bsky.graph.*", range(31, 80, 2)},
      {"cursor=" + std::to_string(k_time + 40) + "&dids=did:plc:odd", range(41, 80, 2)},
  };
  for (const auto& one : cases) {
    FakeClient client(*service, v2, one.query, one.seqs.size());
    client.join();
    EXPECT_EQ(seqs_of(client.socket), one.seqs) << one.query;
  }
  EXPECT_NE(service->counters(v2).blocks_read, 0U);
}

TEST(StreamSession, CursorsBelowTheFloor) {
  TestArchive archive;
  archive.append(20);
  ASSERT_TRUE(archive.writer->seal());
  archive.append(20);
  ASSERT_TRUE(archive.writer->seal());
  archive.append(5);
  io::FixedEnvironment clock;
  clock.set_now_ns((k_time + 3'600'000'000 + 30) * 1000);
  StreamServiceOptions options = wide_open();
  options.environment = &clock;
  options.look_back = std::chrono::hours(1);  // back to row 30
  const auto service = open_service(archive.path, options);
  FakeClient refused(*service, v2, "cursor=20");
  EXPECT_EQ(refused.status, 400);
  EXPECT_NE(refused.answer.find("CursorTooOld"), std::string::npos) << refused.answer;
  EXPECT_NE(refused.answer.find("21"), std::string::npos) << "names the floor";
  FakeClient raised(*service, v1, "cursor=20", 25);
  raised.join();
  EXPECT_EQ(seqs_of(raised.socket), range(21, 45));

  const std::string old_time = "cursor=" + std::to_string(k_time + 3);
  FakeClient told(*service, v2, old_time, 26);
  told.join();
  EXPECT_NE(told.socket.sent().at(0).data.find(
                R"("$type":"network.bsky.jetstream.subscribeEvents#info","name":"OutdatedCursor")"),
            std::string::npos);
  EXPECT_EQ(seq_of(told.socket.sent().at(1).data), 21U);
  FakeClient silent(*service, v1, old_time, 25);
  silent.join();
  EXPECT_EQ(seqs_of(silent.socket), range(21, 45));

  options.look_back = std::chrono::seconds(0);
  const auto tip_only = open_service(archive.path, options);
  EXPECT_EQ(FakeClient(*tip_only, v2, "cursor=44").status, 400);
  FakeClient from_tip(*tip_only, v1, "cursor=44", 3);
  archive.append(3);
  from_tip.join();
  EXPECT_EQ(seqs_of(from_tip.socket), range(46, 48));
}

TEST(StreamSession, LongFramesAreSkipped) {
  VARVE_REQUIRE_SHARED();
  const auto service = open_service(jss::test::fixture("all_kinds.jss"));
  constexpr std::size_t k_most = 330;
  std::vector<std::string> expected;
  for (const std::string& line : jss::test::lines_of(jss::test::fixture("all_kinds.v2.jsonl"))) {
    if (line.size() <= k_most) {
      expected.push_back(canonical_json(line));
    }
  }
  ASSERT_FALSE(expected.empty());
  FakeClient client(*service, v2, "cursor=0&maxMessageSizeBytes=" + std::to_string(k_most),
                    expected.size());
  client.join();
  std::vector<std::string> sent;
  for (const auto& message : client.socket.sent()) {
    EXPECT_LE(message.data.size(), k_most);
    sent.push_back(canonical_json(message.data));
  }
  EXPECT_EQ(sent, expected);
}

TEST(StreamSession, AV2ClientThatSpeaksIsClosed) {
  TestArchive archive;
  const auto service = open_service(archive.path);
  FakeClient client(*service, v2, "");
  client.socket.say("{}");
  client.join();
  EXPECT_EQ(client.socket.close_code, 1008);
}

TEST(StreamSession, LegacyOptionsAreUpdatedOnTheWay) {
  TestArchive archive;
  archive.append(10);
  const auto service = open_service(archive.path);
  FakeClient client(*service, v1, "requireHello=true");
  archive.append(10);
  ASSERT_TRUE(service->tail().look_now());
  client.socket.wait_until_heard();
  EXPECT_TRUE(client.socket.sent().empty()) << "before the hello";
  client.socket.say(
      R"({"type":"options_update","payload":{"wantedCollections":["app.bsky.feed.*"]}})");
  ASSERT_TRUE(client.socket.wait_for(5));
  EXPECT_EQ(seqs_of(client.socket), range(12, 20, 2));
  client.socket.say(R"({"type":"options_update","payload":{"wantedDids":["did:plc:odd"]}})");
  client.socket.wait_until_heard();
  archive.append(10);
  ASSERT_TRUE(client.socket.wait_for(10));
  std::vector<std::uint64_t> expected = range(12, 20, 2);
  for (const std::uint64_t seq : range(21, 30, 2)) {
    expected.push_back(seq);
  }
  EXPECT_EQ(seqs_of(client.socket), expected);
  client.socket.say("not what was agreed");
  client.join();
  EXPECT_EQ(client.socket.close_code, 1008);
}

TEST(StreamSession, AClientThatStaysFarBehindIsSentAway) {
  TestArchive archive;
  archive.append(500);
  for (const StreamVersion version : {v1, v2}) {
    StreamServiceOptions options = wide_open();
    auto now = std::make_shared<std::atomic<std::int64_t>>(0);  // seconds
    options.limits.now = [now] {
      return StreamLimits::Clock::time_point(std::chrono::seconds(now->load()));
    };
    options.limits.max_behind_events = 100;
    const auto service = open_service(archive.path, std::move(options));
    FakeClient slow(*service, version, "cursor=1", SIZE_MAX, [now] { *now += 1; });
    slow.join();
    EXPECT_EQ(slow.socket.close_code, 1008);
    EXPECT_EQ(slow.socket.close_reason, "ConsumerTooSlow");
    const auto sent = slow.socket.sent();
    EXPECT_EQ(service->counters(version).too_slow, 1U);
    EXPECT_EQ(seq_of(sent.at(59).data), 60U);
    if (version == v2) {
      EXPECT_EQ(sent.size(), 61U);
      EXPECT_NE(sent.back().data.find(R"({"$type":"error","error":"ConsumerTooSlow")"),
                std::string::npos);
    }
    // At six events a second it is slow, but gets on.
    FakeClient steady(*service, version, "cursor=1", 500,
                      [now, sixth = 0]() mutable { *now += ++sixth % 6 == 0 ? 1 : 0; });
    steady.join();
    EXPECT_EQ(seqs_of(steady.socket), range(1, 500));
  }
}

TEST(StreamSession, DamageEndsTheStreamWithAnError) {
  TestArchive archive;
  archive.append(30);
  ASSERT_TRUE(archive.writer->seal());
  archive.append(5);
  const auto service = open_service(archive.path);
  std::string bytes = varve::test::read_file(archive.path / "seg_0000000000.jss");
  bytes[256 + 8 + 40] = static_cast<char>(bytes[256 + 8 + 40] ^ 0x55);
  varve::test::write_file(archive.path / "seg_0000000000.jss", bytes);
  FakeClient client(*service, v2, "cursor=1");
  client.join();
  ASSERT_EQ(client.socket.sent().size(), 1U);
  EXPECT_NE(client.socket.sent().at(0).data.find(R"("error":"InternalError")"), std::string::npos);
  EXPECT_EQ(client.socket.sent().at(0).data.find(archive.path.string()), std::string::npos)
      << "tells nobody where the archive lies";
  EXPECT_EQ(client.socket.close_code, 1011);
  FakeClient behind(*service, v2, "cursor=31", 5);
  behind.join();
  EXPECT_EQ(seqs_of(behind.socket), range(31, 35));
}

TEST(StreamSession, CountersTell) {
  TestArchive archive;
  archive.append(20);
  const auto service = open_service(archive.path);
  FakeClient(*service, v2, "cursor=x").join();
  FakeClient(*service, v2, "cursor=11", 10).join();
  const StreamCounters& counters = service->counters(v2);
  EXPECT_EQ(counters.opened, 1U);
  EXPECT_EQ(counters.open, 0U);
  EXPECT_EQ(counters.refused, 1U);
  EXPECT_EQ(counters.frames, 10U);
  EXPECT_EQ(service->counters(v1).opened, 0U);
  EXPECT_EQ(service->tail().next_seq(), 21U);
}

}  // namespace
}  // namespace varve::serve
