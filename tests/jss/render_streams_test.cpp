// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/render_streams.hpp"

#include "fixture_rows.hpp"

namespace varve::jss {
namespace {

using test::canonical_json;

TEST(Streams, AllKindsAsPublished) {
  VARVE_REQUIRE_SHARED();
  std::vector<std::string> v1;
  std::vector<std::string> v2;
  for (const test::Row& row : test::fixture_rows("all_kinds")) {
    std::string line;
    append_stream_v2(line, row.event());
    v2.push_back(canonical_json(line));
    line.clear();
    if (append_stream_v1(line, row.event())) {
      v1.push_back(canonical_json(line));
    } else {
      EXPECT_EQ(line, "");
    }
  }
  const auto published = [](const char* name) {
    std::vector<std::string> lines = test::lines_of(test::fixture(name));
    std::ranges::transform(lines, lines.begin(), canonical_json);
    return lines;
  };
  EXPECT_EQ(v1, published("all_kinds.v1.jsonl"));
  EXPECT_EQ(v2, published("all_kinds.v2.jsonl"));
}

TEST(Streams, WhatIsNoDagCborIsShownAsBytes) {
  test::Row row;
  row.seq = 7;
  row.witnessed_at = -1;
  row.kind = 1;
  row.did = "did:x:\xff";
  row.collection = "a.b.c";
  row.payload = "\xff\xfe";
  std::string line;
  append_stream_v2(line, row.event());
  EXPECT_EQ(
      line,
      "{\"$type\":\"message\",\"payload\":{\"$type\":\"network.bsky.jetstream.subscribeEvents#"
      "commit\",\"collection\":\"a.b.c\",\"did\":{\"$bytes\":\"ZGlkOng6/w\"},\"operation\":"
      "\"create\",\"payload\":{\"$bytes\":\"//4\"},\"rev\":\"\",\"rkey\":\"\",\"seq\":7,"
      "\"time\":\"1969-12-31T23:59:59.999999Z\"}}");
  row.kind = 4;
  row.indexed_at = 5;
  row.did = "did:x:a";
  line.clear();
  ASSERT_TRUE(append_stream_v1(line, row.event()));
  EXPECT_EQ(line,
            "{\"payload\":{\"$bytes\":\"//4\"},\"cursor\":7,\"did\":\"did:x:a\",\"kind\":"
            "\"identity\",\"time_us\":5}");
  row.payload.clear();
  line.clear();
  ASSERT_TRUE(append_stream_v1(line, row.event()));
  EXPECT_EQ(line,
            "{\"identity\":null,\"cursor\":7,\"did\":\"did:x:a\",\"kind\":\"identity\","
            "\"time_us\":5}");
}

}  // namespace
}  // namespace varve::jss
