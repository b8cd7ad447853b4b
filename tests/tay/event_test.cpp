// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/event.hpp"

#include "tay/record.hpp"
#include "tests/tay/event_vectors.hpp"
#include "tests/tay/fixtures.hpp"

namespace varve::tay {
namespace {

using test::unhex;

struct Frame {
  const char* name;
  const char* hex;
  const char* sha256;
  std::uint8_t type;
  std::uint64_t sequence;
};

constexpr Frame k_frames[] = {
    {"E1", test::k_e1, "1b59a812f2b2129532a243c4586f5c8a7702ab99550e6593495715a0c111280e", 1, 1},
    {"E2", test::k_e2, "54c6cac6d57c283e777c1d85621589f8234ec4d786766488b36d604ca67a6a06", 2, 2},
    {"E3", test::k_e3, "d1097553e8e4201339b9fbab03425523d2e49b8f6d7e0d59b9596c3872b9540f", 3, 3},
    {"E4", test::k_e4, "1884923c049b0500e4e61872b09285c68f1bbc715cd00448edbf8f6d0a1db73a", 4, 4},
    {"E6", test::k_e6, "bb31c3ba2edb45900164723f1150d13b4418540387f04ad57b3732fcd04d0a5f", 6, 5},
    {"E5", test::k_e5, "999d5dd5da12cb2b80070ea90fe60c8eec97112e1cffe8d236e5ef8da7f3d757", 5, 6},
    {"N7", test::k_n7, "a75272200392f635206e5dddab74d0f92fcd216d44e70caea0982f06a28ca26f", 3, 3},
};

TEST(Event, PublishedFramesDecodeAndEncodeToTheSameBytes) {
  for (const Frame& frame : k_frames) {
    SCOPED_TRACE(frame.name);
    const Bytes bytes = unhex(frame.hex);
    EXPECT_EQ(test::sha256_hex(bytes), frame.sha256);
    const DecodedRecord record = decode_record(bytes);
    ASSERT_EQ(record.status, RecordStatus::record);
    EXPECT_EQ(record.header.type, frame.type);
    EXPECT_EQ(record.header.sequence, frame.sequence);
    EXPECT_EQ(record.header.frame_bytes(), bytes.size());
    Event event;
    ASSERT_FALSE(decode_event(EventType{frame.type}, record.payload, {}, event));
    Bytes payload;
    encode_event(event, payload);
    Bytes again;
    ASSERT_FALSE(encode_record(frame.type, 1, frame.sequence, payload, again));
    EXPECT_EQ(again, bytes);
  }
}

TEST(Event, FieldsOfThePublishedFrames) {
  Event event;
  const Bytes e1 = unhex(test::k_e1);
  ASSERT_FALSE(decode_event(EventType::inserted, decode_record(e1).payload, {}, event));
  EXPECT_EQ(event.at, 0U);
  EXPECT_EQ(event.due_at, 10U);
  EXPECT_EQ(event.definition.scheduled_at, 10U);
  EXPECT_EQ(event.definition.max_attempts, 2U);
  EXPECT_EQ(event.definition.timeout_ms, 30'000U);
  EXPECT_EQ(event.definition.queue_key, "q");
  EXPECT_EQ(event.definition.worker_key, "w");
  EXPECT_EQ(event.definition.nodes, 25U);
  EXPECT_EQ(base::to_hex(event.job_id), "00000000000000000000000000000001");
  const Bytes e4 = unhex(test::k_e4);
  ASSERT_FALSE(decode_event(EventType::finished, decode_record(e4).payload, {}, event));
  EXPECT_EQ(event.token, 3U);
  EXPECT_EQ(event.attempt, 2U);
  EXPECT_EQ(event.due_at, 1011U);
  EXPECT_EQ(event.diagnostic, 1U);
  EXPECT_EQ(event.outcome, 1U);
  EXPECT_EQ(event.disposition, 1U);
}

TEST(Event, RefusedPayloads) {
  struct Case {
    EventType type;
    const char* hex;
  };
  for (const Case& c :
       {Case{EventType::cancelled, test::k_n5}, Case{EventType::cancelled, test::k_n6},
        Case{EventType::finished, test::k_n8}}) {
    Event event;
    const auto fault = decode_event(c.type, unhex(c.hex), {}, event);
    ASSERT_TRUE(fault);
    EXPECT_STREQ(fault->word, "invalid_event");
    EXPECT_FALSE(fault->limit);
  }
}

TEST(Event, BudgetsOfTheFirstFrameAreExact) {
  const Bytes frame = unhex(test::k_e1);
  const ByteSpan payload = decode_record(frame).payload;
  Event event;
  EXPECT_FALSE(decode_event(EventType::inserted, payload, {4, 35, 185}, event));
  const auto word = [&](const EventBudget& budget) {
    const auto fault = decode_event(EventType::inserted, payload, budget, event);
    return fault && fault->limit ? std::string(fault->word) : std::string("none");
  };
  EXPECT_EQ(word({3, 35, 185}), "depth");
  EXPECT_EQ(word({4, 34, 185}), "output_nodes");
  EXPECT_EQ(word({4, 35, 184}), "binary_bytes");
}

TEST(Event, ValueFaultsComeBeforeFieldRules) {
  Bytes payload = unhex(test::k_n5);  // a key is missing
  payload.push_back(std::byte{0});
  Event event;
  EXPECT_STREQ(decode_event(EventType::cancelled, payload, {}, event)->word, "trailing_bytes");
}

// Each bit of each payload flipped: refused, or another event that encodes to these very bytes.
TEST(Event, WhatDecodesEncodesToTheSameBytes) {
  for (const Frame& frame : k_frames) {
    const Bytes whole = unhex(frame.hex);
    const ByteSpan good = decode_record(whole).payload;
    Bytes payload(good.begin(), good.end());
    for (std::size_t bit = 0; bit < payload.size() * 8; ++bit) {
      payload[bit / 8] ^= std::byte{1} << (bit % 8);
      Event event;
      if (!decode_event(EventType{frame.type}, payload, {}, event)) {
        Bytes again;
        encode_event(event, again);
        EXPECT_EQ(again, payload) << frame.name << " bit " << bit;
      }
      payload[bit / 8] ^= std::byte{1} << (bit % 8);
    }
  }
}

TEST(Event, ArgsRefuseOpaqueBytesAnywhere) {
  Bytes args;
  ValueWriter writer(args);
  writer.map(1);
  writer.text("a");
  writer.list(1);
  const Bytes plain = [&] {
    Bytes out = args;
    ValueWriter(out).nil();
    return out;
  }();
  const Bytes opaque = [&] {
    Bytes out = args;
    ValueWriter(out).opaque(unhex("00"));
    return out;
  }();
  const auto definition = [](const Bytes& with) {
    DefinitionFields fields;
    fields.args = with;
    fields.worker_key = "w";
    Bytes out;
    encode_definition(fields, out);
    return out;
  };
  EXPECT_TRUE(decode_definition(definition(plain), {}));
  EXPECT_FALSE(decode_definition(definition(opaque), {}));
}

TEST(Event, KeysAreBoundedTextWithoutZero) {
  EXPECT_TRUE(is_key("q"));
  EXPECT_TRUE(is_key(std::string(255, 'k')));
  EXPECT_FALSE(is_key(std::string(256, 'k')));
  EXPECT_FALSE(is_key(""));
  EXPECT_FALSE(is_key(std::string_view("a\0b", 3)));
  EXPECT_FALSE(is_key("\xff"));
}

TEST(Event, NamesAndTypes) {
  for (std::uint8_t type = 1; type <= 8; ++type) {
    EXPECT_EQ(event_type_of(event_name(type)), type);
  }
  EXPECT_EQ(event_name(9), "");
  EXPECT_EQ(event_type_of("no such event"), 0);
}

TEST(Event, TheVectorsAreThePublishedFiles) {
  VARVE_REQUIRE_SHARED();
  for (const Frame& frame : k_frames) {
    EXPECT_EQ(unhex(frame.hex), test::fixture_hex(std::string("events/") + frame.name + ".hex"));
  }
  EXPECT_EQ(unhex(test::k_n5), test::fixture_hex("events/N5.hex"));
  EXPECT_EQ(unhex(test::k_n6), test::fixture_hex("events/N6.hex"));
  EXPECT_EQ(unhex(test::k_n8), test::fixture_hex("events/N8.hex"));
}

}  // namespace
}  // namespace varve::tay
