// SPDX-License-Identifier: MIT OR Apache-2.0
// Sections 1 to 5 and 8 of the arena vectors: frames, headers, geometry, both directions.
#include <gtest/gtest.h>

#include "arena_support.hpp"
#include "base/checksum.hpp"
#include "base/compression.hpp"

namespace varve::arena::test {
namespace {

TEST(ArenaVectors, Crc32) {
  const std::pair<const char*, std::uint32_t> rows[] = {
      {"123456789", 0xCBF43926},   {"hello", 0x3610A686}, {"hello world", 0x0D4A1185},
      {"foo bar", 0xBE460134},     {"a", 0xE8B7BE43},     {"third frame", 0xF276D31B},
      {"after reopen", 0x2AD1FC44}};
  for (const auto& [payload, crc] : rows) {
    EXPECT_EQ(base::crc32(base::as_bytes(payload)), crc) << payload;
  }
}

TEST(ArenaVectors, FirstFrame) {
  const std::string bytes =
      hex("86 a6 10 36 05 00 00 00 05 00 00 00 00 00 00 00"
          "68 65 6c 6c 6f 00 00 00 00 00 00 00 00 00 00 00"
          "00 4c 44 4e 45");
  EXPECT_EQ(frame("hello", 0) + marker(), bytes);
  EXPECT_EQ(opened(bytes), "1 frame(s), log end 21 (end marker), next seq 1");
  EXPECT_EQ(marker(), hex("00000000 00000000 00000000 4c444e45"));
}

std::string payload_of(std::string_view frame_bytes) {
  const FrameHeader header = decode_header(reinterpret_cast<const std::byte*>(frame_bytes.data()));
  EXPECT_EQ(check_header(header, frame_bytes.size()).kind, UnitKind::frame);
  base::Buffer room;
  base::ByteSpan payload;
  const auto fault = check_data(header, base::as_bytes(frame_bytes.substr(k_header_bytes)),
                                room.reserve(header.raw_len), payload);
  EXPECT_FALSE(fault.has_value());
  return std::string(base::as_text(payload));
}

TEST(ArenaVectors, CompressedFramesDecode) {
  EXPECT_EQ(payload_of(hex("e0 b8 93 54 30 02 00 00 1a 00 00 00 00 00 00 00"
                           "ef 61 72 65 6e 61 20 6a 6f 75 72 6e 61 6c 20 0e"
                           "00 ff ff 0c 50 72 6e 61 6c 20")),
            journal_text());
  EXPECT_EQ(payload_of(hex("64 7a 70 af 64 00 00 00 0b 00 00 00 00 00 00 00"
                           "1f 61 01 00 4b 50 61 61 61 61 61")),
            std::string(100, 'a'));
}

TEST(ArenaVectors, StoredRawExactlyIfTheBlockIsNotShorter) {
  const std::pair<std::string, bool> rows[] = {
      {"a", true},
      {"hello", true},
      {std::string(12, 'a'), true},
      {std::string(16, 'a'), false},
      {std::string(100, 'a'), false},
      {journal_text(), false},
  };
  for (const auto& [payload, raw] : rows) {
    const std::string bytes = frame(payload, 7);
    const FrameHeader header = decode_header(reinterpret_cast<const std::byte*>(bytes.data()));
    EXPECT_EQ(!header.compressed(), raw) << payload;
    EXPECT_EQ(header.seq, 7U);
    EXPECT_EQ(payload_of(bytes), payload);
  }
}

TEST(ArenaVectors, ThreeFrames) {
  const std::string bytes =
      hex("86 a6 10 36 05 00 00 00 05 00 00 00 00 00 00 00"
          "68 65 6c 6c 6f e0 b8 93 54 30 02 00 00 1a 00 00"
          "00 01 00 00 00 ef 61 72 65 6e 61 20 6a 6f 75 72"
          "6e 61 6c 20 0e 00 ff ff 0c 50 72 6e 61 6c 20 1b"
          "d3 76 f2 0b 00 00 00 0b 00 00 00 02 00 00 00 74"
          "68 69 72 64 20 66 72 61 6d 65 00 00 00 00 00 00"
          "00 00 00 00 00 00 4c 44 4e 45");
  EXPECT_EQ(three_frames(), bytes);
  EXPECT_EQ(opened(bytes), "3 frame(s), log end 90 (end marker), next seq 3");
  EXPECT_EQ(opened(bytes.substr(0, 90) + zeros(16)),
            "3 frame(s), log end 90 (zero header), next seq 3");
  EXPECT_EQ(opened(bytes.substr(0, 90)), "3 frame(s), log end 90 (zero header), next seq 3");
  EXPECT_EQ(opened(bytes.substr(0, 90), 90),
            "3 frame(s), log end 90 (fewer than 16 bytes left), next seq 3");

  const std::string reopened = bytes.substr(0, 90) + frame("after reopen", 3) + marker();
  EXPECT_EQ(reopened.substr(90), hex("44 fc d1 2a 0c 00 00 00 0c 00 00 00 03 00 00 00"
                                     "61 66 74 65 72 20 72 65 6f 70 65 6e 00 00 00 00"
                                     "00 00 00 00 00 00 00 00 4c 44 4e 45"));
  EXPECT_EQ(opened(reopened), "4 frame(s), log end 118 (end marker), next seq 4");
}

TEST(ArenaVectors, TrimmedInsideAFrame) {
  const std::string bytes =
      hex("86 a6 10 36 05 00 00 00 05 00 00 00 00 00 00 00"
          "68 65 6c 6c 6f 65 db eb 44 14 00 00 00 14 00 00"
          "00 01 00 00 00 65 6e 64 73 20 69 6e 20 7a 65 72"
          "6f 73");
  EXPECT_EQ(opened(bytes), "2 frame(s), log end 57 (zero header), next seq 2");
  EXPECT_EQ(frame("hello", 0) + frame("ends in zeros" + zeros(7), 1), bytes + zeros(7));
}

TEST(ArenaVectors, HeaderValidity) {
  const std::pair<const char*, const char*> rows[] = {
      {"00 00 00 00 00 00 00 00 00 00 00 00 4c 44 4e 45", "marker"},
      {"00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00", "zero"},
      {"00 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00", "both-lengths-zero"},
      {"01 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00", "both-lengths-zero"},
      {"01 00 00 00 00 00 00 00 00 00 00 00 4c 44 4e 45", "both-lengths-zero"},
      {"00 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00", "raw_len"},
      {"00 00 00 00 01 00 00 00 00 00 00 00 00 00 00 00", "comp_len"},
      {"00 00 00 00 05 00 00 00 06 00 00 00 00 00 00 00", "comp_len"},
      {"00 00 00 00 01 00 20 03 01 00 20 03 00 00 00 00", "raw_len"},
      {"00 00 00 00 00 00 20 03 00 00 20 03 00 00 00 00", "bounds"},
      {"00 00 00 00 fd 03 00 00 04 00 00 00 00 00 00 00", "ratio"},
      {"00 00 00 00 fc 03 00 00 04 00 00 00 00 00 00 00", "lz4"},
      {"00 00 00 00 20 00 00 00 20 00 00 00 00 00 00 00", "bounds"},
      {"00 00 00 00 1f 00 00 00 1f 00 00 00 00 00 00 00", "crc"},
  };
  for (const auto& [header, expected] : rows) {
    const MemorySegment segment(hex(header) + std::string(31, 'x'), 47);
    base::Buffer data;
    base::Buffer room;
    const auto check = check_at(segment.image(), 0, data, room);
    ASSERT_TRUE(check.has_value());
    const std::string found = check->kind == UnitKind::marker        ? "marker"
                              : check->kind == UnitKind::zero_header ? "zero"
                                                                     : check->fault.word;
    EXPECT_EQ(found, expected) << header;
  }
  EXPECT_EQ(payload_of(hex("86 a6 10 36 05 00 00 00 05 00 00 00 4c 44 4e 45 68 65 6c 6c 6f")),
            "hello");
}

TEST(ArenaVectors, Geometry) {
  EXPECT_EQ(k_max_frame_bytes, 52428816U);
  EXPECT_EQ(geometry_of(2)->global_offset(1, 0), 1073741824U);
  EXPECT_EQ(geometry_of(3)->global_offset(1, 27), 67108891U);
  EXPECT_EQ(geometry_of(4)->global_offset(2, 4736), 2147488384U);
  EXPECT_FALSE(geometry_of(5).has_value());
  EXPECT_FALSE(geometry_of(0).has_value());

  const Geometry four = *geometry_of(4);
  EXPECT_EQ(four.logical_bytes(0, true), 67108864U);
  EXPECT_EQ(four.logical_bytes(67108864, true), 67108864U);
  EXPECT_EQ(four.logical_bytes(67108865, true), 134217728U);
  EXPECT_EQ(four.logical_bytes(67108864, false), 1073741824U);
  EXPECT_EQ(geometry_of(3)->logical_bytes(100, true), 67108864U);
  EXPECT_EQ(geometry_of(1)->logical_bytes(100, true), 1073741824U);
}

// The token walk refuses nothing that a block may hold, and the decoder nothing beyond it except
// what only the copied bytes show.
TEST(Lz4Blocks, TokenWalkAgreesWithTheDecoder) {
  std::uint64_t state = 12345;
  const auto next = [&] {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<unsigned>(state >> 33);
  };
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string payload;
    while (payload.size() < 40 + next() % 200) {
      payload += std::string(1 + next() % 30, static_cast<char>('a' + next() % 4));
    }
    std::string bytes = frame(payload, 0);
    const FrameHeader header = decode_header(reinterpret_cast<const std::byte*>(bytes.data()));
    if (!header.compressed()) {
      continue;
    }
    if (round % 2 == 1) {
      const std::size_t at = k_header_bytes + next() % header.comp_len;
      bytes = flipped(bytes, at, static_cast<unsigned char>(1U << (next() % 8)));
    }
    const base::ByteSpan block = base::as_bytes(bytes).subspan(k_header_bytes);
    std::uint64_t steps = 0;
    const bool plausible = lz4_block_plausible(block, header.raw_len, steps);
    EXPECT_LE(steps, block.size());
    base::Buffer room;
    base::ByteSpan decoded;
    const auto fault = check_data(header, block, room.reserve(header.raw_len), decoded);
    if (!plausible) {
      ASSERT_TRUE(fault.has_value());
      EXPECT_STREQ(fault->word, "lz4");
    }
    accepted += fault ? 0 : 1;
  }
  EXPECT_GT(accepted, 9000);
}

// What the walk over tokens refuses by itself, before anything is decompressed or allocated.
TEST(Lz4Blocks, WhatNoDecoderTakesIsNotPlausible) {
  const auto plausible = [](std::string_view block_hex, std::uint64_t raw_len) {
    std::uint64_t steps = 0;
    return lz4_block_plausible(base::as_bytes(hex(block_hex)), raw_len, steps);
  };
  EXPECT_TRUE(plausible("20 61 62", 2));
  EXPECT_FALSE(plausible("20 61", 2)) << "literals end behind the block";
  EXPECT_FALSE(plausible("20 61 62", 3)) << "less than the header says";
  EXPECT_TRUE(plausible("10 61 01 00 50 61 61 61 61 61", 10));
  EXPECT_FALSE(plausible("10 61 02 00 50 61 61 61 61 61", 10)) << "a match before the data";
  EXPECT_FALSE(plausible("10 61 00 00 50 61 61 61 61 61", 10)) << "a match at no distance";
  EXPECT_FALSE(plausible("10 61 01", 5)) << "the block ends inside a distance";
}

TEST(Lz4Blocks, ADistanceOfZeroIsInvalid) {
  // One literal, then a match at distance 0; liblz4 would make zeros of it.
  const std::string block = hex("1f 61 00 00 4b 50 61 61 61 61 61");
  FrameHeader header{0, 100, 11, 0};
  base::Buffer room;
  base::ByteSpan payload;
  const auto fault = check_data(header, base::as_bytes(block), room.reserve(100), payload);
  ASSERT_TRUE(fault.has_value());
  EXPECT_STREQ(fault->word, "lz4");
}

}  // namespace
}  // namespace varve::arena::test
