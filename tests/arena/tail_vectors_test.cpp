// SPDX-License-Identifier: MIT OR Apache-2.0
// Sections 6 and 7 of the arena vectors: torn appends, and damage inside committed data.
#include <gtest/gtest.h>

#include "arena_support.hpp"
#include "base/checksum.hpp"

namespace varve::arena::test {
namespace {

// The image before the append, with the first `count` bytes of frame and marker written over it.
std::string torn_append(std::string_view payload, std::size_t count) {
  const std::string written = raw_frame(payload, 2) + marker();
  return patched(two_frames() + zeros(64), 63, written.substr(0, count));
}

TEST(TornAppend, AtEveryByte) {
  for (std::size_t k = 0; k <= 43; ++k) {
    const std::string expected =
        k == 0    ? "2 frame(s), log end 63 (end marker), next seq 2"
        : k <= 4  ? "2 frame(s), log end 63 (torn tail, reason both-lengths-zero), next seq 2"
        : k <= 8  ? "2 frame(s), log end 63 (torn tail, reason comp_len), next seq 2"
        : k <= 26 ? "2 frame(s), log end 63 (torn tail, reason crc), next seq 2"
        : k <= 39 ? "3 frame(s), log end 90 (zero header), next seq 3"
        : k <= 42 ? "3 frame(s), log end 90 (torn tail, reason both-lengths-zero), next seq 3"
                  : "3 frame(s), log end 90 (end marker), next seq 3";
    EXPECT_EQ(opened(torn_append("third frame", k)), expected) << k;
  }
}

TEST(TornAppend, RemainsAndClearing) {
  const std::string torn = torn_append("third frame", 20);
  const std::string marked = patched(torn, 63, marker());
  EXPECT_EQ(marked.substr(63, 32), hex("00000000000000000000000 04c444e45 74686972") + zeros(12));
  EXPECT_EQ(opened(marked), "2 frame(s), log end 63 (end marker), next seq 2");
  const std::string cleared = patched(marked, 79, zeros(16));
  EXPECT_EQ(opened(cleared), "2 frame(s), log end 63 (end marker), next seq 2");
  const std::string again = patched(cleared, 63, frame("again", 2) + marker());
  EXPECT_EQ(again.substr(63, 37), hex("fc 5b a1 93 05 00 00 00 05 00 00 00 02 00 00 00"
                                      "61 67 61 69 6e 00 00 00 00 00 00 00 00 00 00 00"
                                      "00 4c 44 4e 45"));
  EXPECT_EQ(opened(again), "3 frame(s), log end 84 (end marker), next seq 3");
}

TEST(TornAppend, RandomBytesBehindTheCut) {
  std::string noise;
  for (int i = 0; i < 48; ++i) {
    noise += static_cast<char>(1 + (i * 89 + 31) % 255);
  }
  for (std::size_t k = 16; k <= 26; ++k) {
    const std::string image = patched(torn_append("third frame", k), 63 + k, noise);
    EXPECT_TRUE(opened(image).starts_with("2 frame(s), log end 63 (torn tail")) << k;
  }
}

TEST(TornAppend, LostHeaderPage) {
  const std::string arrived = torn_append("third frame", 43);
  const std::string old_marker = patched(arrived, 63, marker());
  EXPECT_EQ(opened(old_marker), "2 frame(s), log end 63 (end marker), next seq 2");
  EXPECT_EQ(opened(patched(arrived, 63, zeros(16))),
            "2 frame(s), log end 63 (zero header), next seq 2");

  // The stale marker of a lost append makes the next torn one look committed.
  const std::string next = (frame("again", 2) + marker()).substr(0, 18);
  EXPECT_EQ(opened(patched(old_marker, 63, next)),
            "refused: corrupt-committed at 63, reason crc, proof: marker at 90");
  const std::string cleared = patched(old_marker, 79, zeros(27));
  EXPECT_EQ(opened(patched(cleared, 63, next)),
            "2 frame(s), log end 63 (torn tail, reason crc), next seq 2");

  EXPECT_EQ(opened(patched(arrived, 79, zeros(4))),
            "refused: corrupt-committed at 63, reason crc, proof: marker at 90");
}

TEST(TornAppend, PayloadsWithMarkerBytes) {
  const std::string ldne = std::string(16, 'A') + "LDNE" + std::string(8, 'B');
  ASSERT_EQ(raw_frame(ldne, 2).size(), 44U);
  EXPECT_EQ(opened(torn_append(ldne, 42)),
            "2 frame(s), log end 63 (torn tail, reason crc), next seq 2");
  EXPECT_EQ(opened(patched(torn_append(ldne, 42), 79, zeros(16))),
            "refused: corrupt-committed at 63, reason crc, proof: marker at 83");

  const std::string embedded = "AAAA" + marker() + "BBBBBBBB";
  EXPECT_EQ(raw_frame(embedded, 2), hex("49 93 6b 9a 1c 00 00 00 1c 00 00 00 02 00 00 00"
                                        "41 41 41 41 00 00 00 00 00 00 00 00 00 00 00 00"
                                        "4c 44 4e 45 42 42 42 42 42 42 42 42"));
  EXPECT_EQ(opened(torn_append(embedded, 26)),
            "2 frame(s), log end 63 (torn tail, reason crc), next seq 2");
  EXPECT_EQ(opened(torn_append(embedded, 40)),
            "refused: corrupt-committed at 63, reason crc, proof: marker at 83");
}

struct Change {
  std::size_t at;
  unsigned char bits;
  const char* expected;
};

TEST(CommittedDamage, OneByte) {
  const Change rows[] = {
      {16, 0x01, "refused: corrupt-committed at 0, reason crc, proof: frame at 21"},
      {21, 0x01, "refused: corrupt-committed at 21, reason crc, proof: frame at 63"},
      {25, 0x01, "refused: corrupt-committed at 21, reason lz4, proof: frame at 63"},
      {29, 0x01, "refused: corrupt-committed at 21, reason lz4, proof: frame at 63"},
      {32, 0x80, "refused: corrupt-committed at 21, reason comp_len, proof: frame at 63"},
      {33, 0x40, "3 frame(s), log end 90 (end marker), next seq 66"},
      {38, 0x01, "refused: corrupt-committed at 21, reason crc, proof: frame at 63"},
      {79, 0x01, "refused: corrupt-committed at 63, reason crc, proof: marker at 90"},
      {90, 0x01, "3 frame(s), log end 90 (torn tail, reason both-lengths-zero), next seq 3"},
      {102, 0x01, "3 frame(s), log end 90 (torn tail, reason both-lengths-zero), next seq 3"},
  };
  for (const Change& change : rows) {
    const std::string image = flipped(three_frames() + zeros(32), change.at, change.bits);
    EXPECT_EQ(opened(image), change.expected) << change.at;
    EXPECT_EQ(opened(MemorySegment(image).image(), 3), change.expected) << change.at;
  }
  const std::string zero_end = patched(three_frames(), 90, zeros(48));
  EXPECT_EQ(opened(flipped(zero_end, 79, 1)),
            "2 frame(s), log end 63 (torn tail, reason crc), next seq 2");
}

TEST(CommittedDamage, AHeaderThatBecameAnEndHidesWhatFollows) {
  const std::string image = three_frames() + zeros(32);
  const std::string zeroed = patched(image, 21, zeros(16));
  EXPECT_EQ(opened(zeroed), "1 frame(s), log end 21 (zero header), next seq 1");
  EXPECT_EQ(opened(patched(image, 21, marker())),
            "1 frame(s), log end 21 (end marker), next seq 1");
  const MemorySegment segment(zeroed);
  TailScanner scanner(segment.image());
  const auto behind = look_behind(segment.image(), {SegmentEnd::Kind::zero_header, 21}, scanner);
  ASSERT_TRUE(behind.has_value() && behind->has_value());
  ASSERT_TRUE((*behind)->frame.has_value());
  EXPECT_EQ((*behind)->frame->offset, 63U);
}

}  // namespace
}  // namespace varve::arena::test
