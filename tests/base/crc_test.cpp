// SPDX-License-Identifier: MIT OR Apache-2.0
// The CRCs against implementations of their own: bit by bit, as the definitions say.
#include <gtest/gtest.h>

#include <random>

#include "base/checksum.hpp"
#include "tests/support.hpp"

namespace varve::base {
namespace {

constexpr std::uint32_t k_crc32_polynomial = 0xEDB88320;
constexpr std::uint32_t k_crc32c_polynomial = 0x82F63B78;

std::uint32_t bit_by_bit(ByteSpan bytes, std::uint32_t polynomial) {
  std::uint32_t state = ~0U;
  for (const std::byte b : bytes) {
    state ^= u8(b);
    for (int i = 0; i < 8; ++i) {
      state = (state & 1) != 0 ? (state >> 1) ^ polynomial : state >> 1;
    }
  }
  return ~state;
}

Bytes random_bytes(std::mt19937_64& random, std::size_t count) {
  Bytes out(count);
  for (std::byte& b : out) {
    b = static_cast<std::byte>(random());
  }
  return out;
}

TEST(CrcReference, EveryShortLengthAtEveryAlignment) {
  std::mt19937_64 random(1);
  const Bytes bytes = random_bytes(random, 700);
  for (std::size_t length = 0; length <= 640; length = length < 300 ? length + 1 : length + 17) {
    for (std::size_t start = 0; start < 16; ++start) {
      const ByteSpan piece = ByteSpan(bytes).subspan(start, length);
      ASSERT_EQ(crc32(piece), bit_by_bit(piece, k_crc32_polynomial)) << length << " " << start;
      ASSERT_EQ(crc32c(piece), bit_by_bit(piece, k_crc32c_polynomial)) << length << " " << start;
    }
  }
}

TEST(CrcReference, LongInputs) {
  std::mt19937_64 random(2);
  for (const std::size_t length : {4096, 65'536, 65'537, 1'000'003}) {
    const Bytes bytes = random_bytes(random, length);
    EXPECT_EQ(crc32(bytes), bit_by_bit(bytes, k_crc32_polynomial));
    EXPECT_EQ(crc32c(bytes), bit_by_bit(bytes, k_crc32c_polynomial));
  }
}

// A million random splits: chained and combined, both equal the CRC of the whole.
TEST(CrcReference, AMillionRandomSplits) {
  std::mt19937_64 random(3);
  constexpr int k_splits = 500;
  const std::uint64_t inputs = varve::test::scaled(2000);
  for (std::uint64_t i = 0; i < inputs; ++i) {
    const Bytes bytes = random_bytes(random, 1 + random() % 1500);
    const std::uint32_t whole = bit_by_bit(bytes, k_crc32_polynomial);
    const std::uint32_t whole_c = bit_by_bit(bytes, k_crc32c_polynomial);
    for (int split = 0; split < k_splits; ++split) {
      const std::size_t cut = random() % (bytes.size() + 1);
      const ByteSpan a = ByteSpan(bytes).first(cut);
      const ByteSpan b = ByteSpan(bytes).subspan(cut);
      const std::uint32_t crc_a = crc32(a);
      const std::uint32_t crc_ca = crc32c(a);
      ASSERT_EQ(crc32(b, crc_a), whole);
      ASSERT_EQ(crc32c(b, crc_ca), whole_c);
      ASSERT_EQ(crc32_combine(crc_a, crc32(b), b.size()), whole);
      ASSERT_EQ(crc32c_combine(crc_ca, crc32c(b), b.size()), whole_c);
    }
  }
}

TEST(CrcReference, APreparedShiftEqualsTheCombination) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t length = random() >> (random() % 64);
    const auto a = static_cast<std::uint32_t>(random());
    const auto b = static_cast<std::uint32_t>(random());
    ASSERT_EQ(Crc32cShift(length).combine(a, b), crc32c_combine(a, b, length)) << length;
  }
}

// No buffer is that long, but combination is associative for lengths of any size.
TEST(CrcReference, CombinationIsAssociativeForHugeLengths) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t length_b = random() >> (2 + random() % 60);
    const std::uint64_t length_c = random() >> (2 + random() % 60);
    const auto a = static_cast<std::uint32_t>(random());
    const auto b = static_cast<std::uint32_t>(random());
    const auto c = static_cast<std::uint32_t>(random());
    const auto check = [&](auto combine) {
      ASSERT_EQ(combine(combine(a, b, length_b), c, length_c),
                combine(a, combine(b, c, length_c), length_b + length_c));
    };
    check(crc32_combine);
    check(crc32c_combine);
  }
}

// Zeros in front of nothing: what a run of zeros does to a CRC, against direct computation.
TEST(CrcReference, CombinesWithRunsOfZeros) {
  const Bytes zeros(100'000);
  const std::uint32_t a = crc32c(as_bytes("front"));
  for (const std::size_t count : {0, 1, 7, 4096, 99'999}) {
    const ByteSpan run = ByteSpan(zeros).first(count);
    EXPECT_EQ(crc32c_combine(a, crc32c(run), count), crc32c(run, a));
    EXPECT_EQ(crc32_combine(a, crc32(run), count), crc32(run, a));
  }
}

}  // namespace
}  // namespace varve::base
