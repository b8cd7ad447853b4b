// SPDX-License-Identifier: MIT OR Apache-2.0
// LZ4 blocks against a decoder written from the block format's description, on valid and on hostile
// input.
#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "base/compression.hpp"
#include "base/text_coding.hpp"
#include "tests/support.hpp"

namespace varve::base {
namespace {

// Decodes a block to at most `cap` bytes; nullopt for anything that the format does not allow.
std::optional<std::string> plain_lz4(ByteSpan block, std::size_t cap) {
  std::string out;
  std::size_t at = 0;
  const auto extend = [&](std::size_t& length) {
    for (;;) {
      if (at >= block.size()) return false;
      const std::uint8_t more = u8(block[at++]);
      length += more;
      if (more != 255) return true;
    }
  };
  while (at < block.size()) {
    const std::uint8_t token = u8(block[at++]);
    std::size_t literals = token >> 4;
    if (literals == 15 && !extend(literals)) return std::nullopt;
    if (literals > block.size() - at || literals > cap - out.size()) return std::nullopt;
    out += as_text(block.subspan(at, literals));
    at += literals;
    if (at == block.size()) {
      return out;
    }
    if (block.size() - at < 2) return std::nullopt;
    const std::size_t offset = u16le(block.data() + at);
    at += 2;
    std::size_t match = token & 15U;
    if (match == 15 && !extend(match)) return std::nullopt;
    match += 4;
    if (offset > out.size() || match > cap - out.size()) return std::nullopt;
    for (; match > 0; --match) {
      // The format calls an offset of 0 invalid; liblz4 decodes it as zeros.
      out += offset == 0 ? '\0' : out[out.size() - offset];
    }
  }
  return std::nullopt;  // a block ends with literals
}

std::string text_like(std::mt19937_64& random, std::size_t count) {
  std::string out;
  while (out.size() < count) {
    out += random() % 3 == 0 ? std::string(1 + random() % 40, static_cast<char>('a' + random() % 4))
                             : std::to_string(random() % 1000) + " words ";
  }
  out.resize(count);
  return out;
}

TEST(Lz4, RoundTripsAndAgreesWithThePlainDecoder) {
  std::mt19937_64 random(1);
  for (std::uint64_t i = varve::test::scaled(400); i > 0; --i) {
    const std::string text = text_like(random, 64 + random() % 5000);
    Bytes block;
    ASSERT_TRUE(lz4_encode(as_bytes(text), block));
    EXPECT_LT(block.size(), text.size());
    EXPECT_EQ(plain_lz4(block, text.size()), text);
    Bytes out(text.size());
    ASSERT_TRUE(lz4_decode(block, out));
    EXPECT_EQ(as_text(out), text);
  }
}

TEST(Lz4, TheLengthMustFitExactly) {
  const std::string text(1000, 'x');
  Bytes block;
  ASSERT_TRUE(lz4_encode(as_bytes(text), block));
  for (const std::size_t size : {0, 1, 999, 1001, 5000}) {
    Bytes out(size);
    EXPECT_FALSE(lz4_decode(block, out)) << size;
  }
  Bytes out(1000);
  block.push_back(std::byte{0});
  EXPECT_FALSE(lz4_decode(block, out));  // a byte too many
  block.resize(block.size() - 2);
  EXPECT_FALSE(lz4_decode(block, out));  // a byte too few
  EXPECT_FALSE(lz4_decode({}, out));
  EXPECT_FALSE(lz4_decode({}, std::span<std::byte>()));
  const Bytes nothing = {std::byte{0}};
  EXPECT_TRUE(lz4_decode(nothing, std::span<std::byte>()));
}

TEST(Lz4, DoesNotStoreWhatDoesNotShrink) {
  std::mt19937_64 random(2);
  Bytes noise(500);
  for (std::byte& b : noise) {
    b = static_cast<std::byte>(random());
  }
  Bytes block;
  EXPECT_FALSE(lz4_encode(noise, block));
  EXPECT_FALSE(lz4_encode(as_bytes("a"), block));
  EXPECT_FALSE(lz4_encode({}, block));
}

// Whatever a block holds, the answer does not depend on what the output buffer held before, and a
// block that the plain decoder refuses is refused.
TEST(Lz4, HostileBlocksAreRefusedAndNeverShowOldMemory) {
  std::mt19937_64 random(3);
  int accepted = 0;
  for (std::uint64_t i = varve::test::scaled(60'000); i > 0; --i) {
    const std::string text = text_like(random, 20 + random() % 300);
    Bytes block;
    if (!lz4_encode(as_bytes(text), block)) {
      continue;
    }
    for (std::uint64_t flips = 1 + random() % 3; flips > 0; --flips) {
      block[random() % block.size()] = static_cast<std::byte>(random() % 4 == 0 ? 0 : random());
    }
    Bytes first(text.size(), std::byte{0x11});
    Bytes second(text.size(), std::byte{0xEE});
    const bool ok = lz4_decode(block, first);
    ASSERT_EQ(lz4_decode(block, second), ok) << to_hex(block);
    const auto plain = plain_lz4(block, text.size());
    const bool plain_ok = plain && plain->size() == text.size();
    if (ok) {
      ASSERT_EQ(first, second) << to_hex(block);
      ASSERT_TRUE(plain_ok) << to_hex(block);
      ASSERT_EQ(as_text(first), *plain) << to_hex(block);
      ++accepted;
    }
  }
  EXPECT_GT(accepted, 6);
}

}  // namespace
}  // namespace varve::base
