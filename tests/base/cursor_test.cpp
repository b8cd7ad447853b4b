// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/cursor.hpp"

#include <gtest/gtest.h>

#include <random>

#include "base/text_coding.hpp"
#include "tests/support.hpp"

namespace varve::base {
namespace {

TEST(ByteCursor, TakesIntegersInBothOrders) {
  const Bytes bytes = *from_hex("0102030405060708090a0b0c0d0e0f10ff");
  ByteCursor little(bytes);
  EXPECT_EQ(little.u8(), 0x01);
  EXPECT_EQ(little.u16le(), 0x0302);
  EXPECT_EQ(little.u32le(), 0x07060504U);
  EXPECT_EQ(little.u64le(), 0x0f0e0d0c0b0a0908U);
  EXPECT_EQ(little.position(), 15U);
  ByteCursor big(bytes);
  EXPECT_EQ(big.u16be(), 0x0102);
  EXPECT_EQ(big.u32be(), 0x03040506U);
  EXPECT_EQ(big.u64be(), 0x0708090a0b0c0d0eU);
  EXPECT_EQ(big.remaining(), 3U);
}

TEST(ByteCursor, AFailedTakeMovesNothing) {
  const Bytes bytes = *from_hex("010203");
  ByteCursor cursor(bytes);
  EXPECT_EQ(cursor.u32le(), std::nullopt);
  EXPECT_EQ(cursor.u64be(), std::nullopt);
  EXPECT_FALSE(cursor.bytes(4).has_value());
  EXPECT_FALSE(cursor.bytes(UINT64_MAX).has_value());
  EXPECT_FALSE(cursor.skip(UINT64_MAX));
  EXPECT_EQ(cursor.position(), 0U);
  EXPECT_EQ(cursor.bytes(3)->size(), 3U);
  EXPECT_TRUE(cursor.at_end());
  EXPECT_EQ(cursor.u8(), std::nullopt);
  EXPECT_EQ(cursor.peek_u8(), std::nullopt);
  EXPECT_TRUE(cursor.bytes(0).has_value());
}

TEST(ByteCursor, AnEmptySpanIsFine) {
  ByteCursor cursor{ByteSpan()};
  EXPECT_TRUE(cursor.at_end());
  EXPECT_EQ(cursor.varint(), std::nullopt);
  EXPECT_TRUE(cursor.rest().empty());
}

std::optional<std::uint64_t> varint_of(std::string_view hex, std::size_t max_bytes = 10) {
  const Bytes bytes = *from_hex(hex);
  ByteCursor cursor(bytes);
  const auto value = cursor.varint(max_bytes);
  EXPECT_EQ(cursor.position(), value ? bytes.size() : 0U) << hex;
  return value;
}

TEST(Varint, KnownForms) {
  EXPECT_EQ(varint_of("00"), 0U);
  EXPECT_EQ(varint_of("7f"), 127U);
  EXPECT_EQ(varint_of("8001"), 128U);
  EXPECT_EQ(varint_of("ffffffffffffffffff01"), UINT64_MAX);
  EXPECT_EQ(varint_of("80808080808080808001"), std::uint64_t{1} << 63);
  EXPECT_EQ(varint_of("8000"), 0U);  // longer than needed: within the length it is allowed
  EXPECT_EQ(varint_of("ffffffffffffffffff02"), std::nullopt);  // more than 64 bits
  EXPECT_EQ(varint_of("ffffffffffffffffffff01"), std::nullopt);
  EXPECT_EQ(varint_of("80"), std::nullopt);
  EXPECT_EQ(varint_of(""), std::nullopt);
  EXPECT_EQ(varint_of("808001", 2), std::nullopt);
  EXPECT_EQ(varint_of("8001", 2), 128U);
}

TEST(Varint, WhatIsWrittenIsReadBack) {
  std::mt19937_64 random(1);
  for (std::uint64_t i = varve::test::scaled(100'000); i > 0; --i) {
    const std::uint64_t value = random() >> (random() % 64);
    Bytes out;
    ByteWriter(out).varint(value);
    ASSERT_LE(out.size(), 10U);
    ASSERT_TRUE(out.size() == 1 || out.back() != std::byte{0});  // the shortest form
    ByteCursor cursor(out);
    ASSERT_EQ(cursor.varint(), value);
    ASSERT_TRUE(cursor.at_end());
  }
}

TEST(ByteWriter, WritesWhatTheCursorReads) {
  Bytes out;
  ByteWriter writer(out);
  writer.u8(1);
  writer.u16le(0x0203);
  writer.u16be(0x0405);
  writer.u32le(0x06070809);
  writer.u32be(0x0a0b0c0d);
  writer.u64le(0x1122334455667788);
  writer.u64be(0x1122334455667788);
  writer.i64le(-2);
  writer.text("xy");
  writer.zeros(2);
  EXPECT_EQ(to_hex(out),
            "0103020405090807060a0b0c0d"
            "8877665544332211"
            "1122334455667788"
            "feffffffffffffff"
            "7879"
            "0000");
}

}  // namespace
}  // namespace varve::base
