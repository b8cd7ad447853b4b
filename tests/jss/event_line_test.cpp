// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/event_line.hpp"

#include <gtest/gtest.h>

#include "base/text_coding.hpp"

namespace varve::jss {
namespace {

TEST(EventLine, AllKeys) {
  EventLineParser parser;
  const auto event = parser.parse(
      "{\"seq\":7,\"witnessed_at\":-5,\"indexed_at\":\"9\",\"kind\":\"create_resync\","
      "\"did\":\"did:x:a\",\"collection\":\"a.b.c\",\"rkey\":\"r\",\"rev\":{\"$bytes\":\"/w\"},"
      "\"cid\":\"bafy\",\"record\":{\"b\":1,\"aa\":[null]},"
      "\"at\":{\"segment\":\"s\",\"block\":0,\"row\":1}}",
      1);
  ASSERT_TRUE(event) << event.error().text();
  EXPECT_EQ(event->seq, 7U);
  EXPECT_EQ(event->witnessed_at, -5);
  EXPECT_EQ(event->indexed_at, 9);
  EXPECT_EQ(event->kind, 7);
  EXPECT_EQ(event->did, "did:x:a");
  EXPECT_EQ(event->collection, "a.b.c");
  EXPECT_EQ(event->rkey, "r");
  EXPECT_EQ(event->rev, "\xff");
  EXPECT_EQ(base::to_hex(event->payload), "a261620162616181f6");
}

TEST(EventLine, WhatIsAbsent) {
  EventLineParser parser;
  const auto event = parser.parse(" {\"kind\":3,\"did\":\"\",\"seq\":null,\"record\":null} ", 42);
  ASSERT_TRUE(event) << event.error().text();
  EXPECT_EQ(event->seq, 0U);
  EXPECT_EQ(event->witnessed_at, 42);
  EXPECT_EQ(event->indexed_at, 0);
  EXPECT_TRUE(event->payload.empty());
  const auto bytes = parser.parse(
      "{\"kind\":\"sync\",\"did\":\"d\",\"cid\":null,\"record\":null,\"payload\":{\"$bytes\":\"//"
      "4\"}}",
      0);
  ASSERT_TRUE(bytes) << bytes.error().text();
  EXPECT_EQ(base::to_hex(bytes->payload), "fffe");
}

TEST(EventLine, RefusesWhatIsNoRow) {
  EventLineParser parser;
  for (const std::string_view line :
       {"",
        "[]",
        "1",
        "{",
        "{}",
        "{\"did\":\"d\"}",
        "{\"kind\":\"create\"}",
        "{\"kind\":\"commit\",\"did\":\"d\"}",
        "{\"kind\":\"\",\"did\":\"d\"}",
        "{\"kind\":256,\"did\":\"d\"}",
        "{\"kind\":1,\"did\":5}",
        "{\"kind\":1,\"did\":null}",
        "{\"kind\":1,\"did\":\"d\",\"seq\":0}",
        "{\"kind\":1,\"did\":\"d\",\"seq\":-1}",
        "{\"kind\":1,\"did\":\"d\",\"seq\":1.5}",
        "{\"kind\":1,\"did\":\"d\",\"seq\":\"\"}",
        "{\"kind\":1,\"did\":\"d\",\"seq\":18446744073709551616}",
        "{\"kind\":1,\"did\":\"d\",\"recrod\":{}}",
        "{\"kind\":1,\"did\":\"d\",\"record\":1.5}",
        "{\"kind\":1,\"did\":\"d\",\"payload\":\"x\"}",
        "{\"kind\":1,\"did\":\"d\",\"payload\":{\"$link\":\"x\"}}",
        "{\"kind\":1,\"did\":\"d\",\"record\":{},\"payload\":{\"$bytes\":\"AA\"}}",
        "{\"kind\":1,\"did\":\"d\"} {}",
        "{\"kind\":1,\"did\":\"d\"}}",
        "{\"kind\":1,\"did\":\"d\",\"witnessed_at\":\"now\"}",
        "{\"kind\":1,\"did\":\"\xff\"}"}) {
    const auto event = parser.parse(line, 0);
    ASSERT_FALSE(event) << line;
    EXPECT_EQ(event.error().code, ErrorCode::invalid_argument);
    EXPECT_FALSE(event.error().message.empty());
  }
  EXPECT_TRUE(parser.parse("{\"kind\":1,\"did\":\"d\"}", 0)) << "the parser goes on";
}

}  // namespace
}  // namespace varve::jss
