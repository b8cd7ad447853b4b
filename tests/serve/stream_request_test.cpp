// SPDX-License-Identifier: MIT OR Apache-2.0
// Each rule of the parameters of both streams (spec sections 19.1 and 19.3), and each row of the
// table of cursors (19.2).
#include "serve/stream_request.hpp"

#include <gtest/gtest.h>

#include "serve/stream_cursor.hpp"
#include "serve/stream_options.hpp"
#include "stream_support.hpp"

namespace varve::serve {
namespace {

using test::request_of;
constexpr auto v1 = StreamVersion::v1;
constexpr auto v2 = StreamVersion::v2;

std::string repeated(const std::string& name, const std::string& before, int count,
                     const std::string& behind) {
  std::string out;
  for (int i = 0; i < count; ++i) {
    out += (out.empty() ? "" : "&") + name + "=" + before + std::to_string(i) + behind;
  }
  return out;
}

// "" if the request is taken, else the error.
std::string verdict(StreamVersion version, const std::string& query,
                    const StreamDictionaries& dictionaries = {}) {
  const auto parsed = parse_stream_request(version, request_of(query), dictionaries);
  return parsed ? "" : parsed.error().error;
}

TEST(StreamRequest, TheRulesOfSubscribeEvents) {
  const std::string refused = "InvalidRequest";
  const struct {
    std::string query;
    std::string error;
  } rules[] = {
      {"", ""},
      {"unknown=1", ""},
      {"cursor=", ""},
      {"cursor=0", ""},
      {"cursor=9223372036854775807", ""},
      {"cursor=9223372036854775808", refused},
      {"cursor=-1", refused},
      {"cursor=1.5", refused},
      {"cursor=abc", refused},
      {"kinds=commit&kinds=identity&kinds=account&kinds=sync", ""},
      {"kinds=commit&kinds=commit&kinds=commit&kinds=commit&kinds=commit", refused},
      {"kinds=create", refused},
      {"kinds=", refused},
      {"dids=did:plc:abc", ""},
      {"dids=plc:abc", refused},
      {"dids=", refused},
      {repeated("dids", "did:plc:a", 10'000, ""), ""},
      {repeated("dids", "did:plc:a", 10'001, ""), refused},
      {repeated("dids", "did:plc:a", 1, "") + "&" + repeated("dids", "did:plc:a", 10'000, ""),
       refused},  // the limit counts repetitions
      {"collections=app.bsky.feed.post", ""},
      {"collections=app.bsky.*", ""},
      {"collections=app.*", refused},
      {"collections=app.bsky", refused},
      {repeated("collections", "app.bsky.n", 100, ""), ""},
      {repeated("collections", "app.bsky.n", 101, ""), refused},
      {"collections=app.bsky.feed.post&kinds=commit&kinds=sync", ""},
      {"collections=app.bsky.feed.post&kinds=identity", refused},
      {"maxMessageSizeBytes=4294967295", ""},
      {"maxMessageSizeBytes=4294967296", refused},
      {"maxMessageSizeBytes=-1", refused},
      {"maxMessageSizeBytes=x", refused},
      {"wantedDids=did:plc:abc", refused},
      {"wantedCollections=app.bsky.feed.post", refused},
      {"requireHello=false", refused},
      {"compress=true", refused},
      {"compress=false", ""},
      {"zstdDictionary=5", "UnknownZstdDictionary"},
      {"zstdDictionary=0", "UnknownZstdDictionary"},
      {"zstdDictionary=x", refused},
  };
  for (const auto& rule : rules) {
    EXPECT_EQ(verdict(v2, rule.query), rule.error) << rule.query.substr(0, 80);
  }
  HttpRequest encoded;
  encoded.headers.emplace("socket-encoding", "zstd");
  EXPECT_FALSE(parse_stream_request(v2, encoded, {}));
}

TEST(StreamRequest, TheRulesOfTheLegacyStream) {
  const std::string refused = "InvalidRequest";
  const struct {
    std::string query;
    std::string error;
  } rules[] = {
      {"", ""},
      {"cursor=5", ""},
      {"cursor=-5", refused},
      {"cursor=x", refused},
      {"wantedCollections=app.*", ""},
      {"wantedCollections=anything at all.*", ""},
      {"wantedCollections=.*", refused},
      {"wantedCollections=app.bsky", refused},
      {"wantedDids=did:plc:abc", ""},
      {"wantedDids=abc", refused},
      {repeated("wantedCollections", "app.bsky.n", 100, ""), ""},
      {repeated("wantedCollections", "app.bsky.n", 101, ""), refused},
      {repeated("wantedCollections", "app.bsky.n", 100, "") + "&" +
           repeated("wantedCollections", "app.bsky.n", 100, ""),
       ""},  // repetitions do not count
      {repeated("wantedDids", "did:plc:a", 10'000, ""), ""},
      {repeated("wantedDids", "did:plc:a", 10'001, ""), refused},
      {"maxMessageSizeBytes=rubbish", ""},
      {"requireHello=true", ""},
      {"compress=true", refused},  // there is no dictionary
      {"compress=false", ""},
      {"kinds=nonsense", ""},  // a parameter of the other stream
  };
  for (const auto& rule : rules) {
    EXPECT_EQ(verdict(v1, rule.query), rule.error) << rule.query.substr(0, 80);
  }
  const auto limit = [](const std::string& text) {
    return parse_stream_request(v1, request_of("maxMessageSizeBytes=" + text), {})
        ->filter.max_message_bytes;
  };
  EXPECT_EQ(limit("100"), 100U);
  EXPECT_EQ(limit("-100"), 0U);
  EXPECT_EQ(limit("100x"), 0U);
  EXPECT_TRUE(parse_stream_request(v1, request_of("requireHello=true"), {})->require_hello);
}

TEST(StreamRequest, CompressionNeedsADictionary) {
  const varve::test::ScratchDirectory scratch;
  StreamDictionaries dictionaries;
  const auto add = [&](std::uint32_t id) {
    const auto path = scratch / std::to_string(id);
    varve::test::write_file(path, test::make_dictionary(id));
    return dictionaries.add(io::posix_file_system(), path.string());
  };
  ASSERT_TRUE(add(k_legacy_dictionary_id));
  ASSERT_TRUE(add(20260811));
  EXPECT_FALSE(add(20260811)) << "twice the same id";
  varve::test::write_file(scratch / "raw", "no dictionary at all");
  EXPECT_EQ(dictionaries.add(io::posix_file_system(), (scratch / "raw").string()).error().code,
            ErrorCode::invalid_argument);

  EXPECT_EQ(parse_stream_request(v1, request_of("compress=true"), dictionaries)->form.dictionary,
            0);
  HttpRequest encoded;
  encoded.headers.emplace("Socket-Encoding", "zstd");
  EXPECT_EQ(parse_stream_request(v1, encoded, dictionaries)->form.dictionary, 0);
  EXPECT_EQ(parse_stream_request(v2, request_of("zstdDictionary=20260811"), dictionaries)
                ->form.dictionary,
            1);
  const auto wrong = parse_stream_request(v2, request_of("zstdDictionary=7"), dictionaries);
  EXPECT_EQ(wrong.error().error, "UnknownZstdDictionary");
  EXPECT_NE(wrong.error().message.find("20260811"), std::string::npos) << "names the current one";
}

TEST(StreamRequest, OptionsUpdates) {
  const std::string head = R"({"type":"options_update","payload":)";
  const auto update = [&](const std::string& payload) {
    return parse_options_update(head + payload + "}");
  };
  const auto whole =
      update(R"({"wantedCollections":["app.bsky.feed.*"],"wantedDids":["did:plc:a"],)"
             R"("maxMessageSizeBytes":9})");
  ASSERT_TRUE(whole && *whole);
  EXPECT_EQ((*whole)->max_message_bytes, 9U);
  EXPECT_TRUE((*whole)->rows.wants(1, "did:plc:a", "app.bsky.feed.like"));
  EXPECT_FALSE((*whole)->rows.wants(1, "did:plc:a", "app.bsky.graph.follow"));
  EXPECT_FALSE((*whole)->rows.wants(1, "did:plc:b", "app.bsky.feed.like"));
  EXPECT_TRUE((*whole)->rows.wants(4, "did:plc:a", "")) << "markers ignore collections";
  EXPECT_FALSE((*whole)->rows.wants(4, "did:plc:b", "")) << "but not accounts";

  EXPECT_TRUE((*update("{}"))->rows.empty());
  EXPECT_TRUE((*update(R"({"wantedDids":null})"))->rows.empty());
  EXPECT_EQ((*update(R"({"maxMessageSizeBytes":-1})"))->max_message_bytes, 0U);
  EXPECT_EQ(*parse_options_update(R"({"type":"ping"})"), std::nullopt);
  for (const char* wrong :
       {R"({"wantedDids":["x"]})", R"({"wantedDids":"did:plc:a"})", R"({"wantedDids":[1]})",
        R"({"wantedCollections":["x"]})", R"({"maxMessageSizeBytes":"9"})", "[]", "null"}) {
    EXPECT_FALSE(update(wrong)) << wrong;
  }
  for (const char* wrong : {"", "x", "[]", "{}", R"({"type":5})", R"({"type":"options_update"})",
                            "{\"type\":\"options_update\",\"payload\":{}"}) {
    EXPECT_FALSE(parse_options_update(wrong)) << wrong;
  }
}

constexpr std::int64_t k_now = 1'783'100'000'000'000;
constexpr std::int64_t k_floor_time = k_now - 3'600'000'000;

// What a cursor leads to, in words.
std::string outcome(StreamVersion version, std::optional<std::int64_t> cursor,
                    const StreamBounds& bounds) {
  const auto start = start_of(version, cursor, bounds, k_now);
  if (!start) {
    return start.error().error + ": " + start.error().message;
  }
  return "seq " + std::to_string(start->seq) +
         (start->time ? " time " + std::to_string(*start->time) : "") +
         (start->outdated ? " outdated" : "");
}

TEST(StreamCursor, TheTable) {
  const StreamBounds bounds{1000, StreamFloor{500, k_floor_time}};
  const std::string k_too_old = " is too old; the oldest seq that is replayed is 500";
  const struct {
    std::optional<std::int64_t> cursor;
    std::string v2;
    std::string v1;
  } rows[] = {
      {std::nullopt, "seq 1000", "seq 1000"},
      {500, "seq 500", "seq 500"},
      {999, "seq 999", "seq 999"},
      {1000, "seq 1000", "seq 1000"},
      {k_first_time_cursor - 1, "seq 1000", "seq 1000"},
      {499, "CursorTooOld: cursor 499" + k_too_old, "seq 500"},
      {0, "CursorTooOld: cursor 0" + k_too_old, "seq 500"},
      {k_floor_time + 7, "seq 500 time " + std::to_string(k_floor_time + 7),
       "seq 500 time " + std::to_string(k_floor_time + 7)},
      {k_now, "seq 500 time " + std::to_string(k_now), "seq 500 time " + std::to_string(k_now)},
      {k_now + 1, "seq 1000", "seq 1000"},
      {k_floor_time - 1, "seq 500 outdated", "seq 500"},
      {k_first_time_cursor, "seq 500 outdated", "seq 500"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(outcome(v2, row.cursor, bounds), row.v2) << row.cursor.value_or(-1);
    EXPECT_EQ(outcome(v1, row.cursor, bounds), row.v1) << row.cursor.value_or(-1);
  }
}

TEST(StreamCursor, WithoutASealedSegmentNothingIsTooOld) {
  const StreamBounds bounds{1000, std::nullopt};
  for (const StreamVersion version : {v1, v2}) {
    EXPECT_EQ(outcome(version, 0, bounds), "seq 1") << "0 is read as 1";
    EXPECT_EQ(outcome(version, k_first_time_cursor, bounds), "seq 1 time 1000000000000000");
  }
}

TEST(StreamCursor, TheFloorIsTheFirstSegmentThatReachesIntoTheWindow) {
  const auto sealed = [](std::uint64_t min_seq, std::int64_t first, std::int64_t last) {
    StreamSegment out;
    out.state = jss::SegmentState::sealed;
    out.header.block_count = 1;
    out.header.min_seq = min_seq;
    out.header.max_seq = min_seq + 9;
    out.header.min_witnessed_at = first;
    out.header.max_witnessed_at = last;
    return out;
  };
  std::vector<StreamSegment> segments = {sealed(1, 10, 19), sealed(11, 20, 29), sealed(21, 30, 39)};
  EXPECT_EQ(floor_of(segments, 5)->seq, 1U);
  EXPECT_EQ(floor_of(segments, 19)->seq, 1U);
  EXPECT_EQ(floor_of(segments, 25)->seq, 11U) << "up to one segment generous";
  EXPECT_EQ(floor_of(segments, 25)->witnessed_at, 20);
  EXPECT_EQ(floor_of(segments, 99)->seq, 21U) << "all are older: the last one's";
  segments.push_back(StreamSegment{});  // active
  EXPECT_EQ(floor_of(segments, 99)->seq, 21U);
  EXPECT_FALSE(floor_of({StreamSegment{}}, 99));
  EXPECT_EQ(last_sealed_seq(segments), 30U);
}

}  // namespace
}  // namespace varve::serve
