// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/checksum.hpp"

#include <gtest/gtest.h>

#include "base/text_coding.hpp"

namespace varve::base {
namespace {

TEST(Crc, CheckValues) {
  EXPECT_EQ(crc32(as_bytes("123456789")), 0xCBF43926U);
  EXPECT_EQ(crc32c(as_bytes("123456789")), 0xE3069283U);
  EXPECT_EQ(crc32c({}), 0U);
}

TEST(Crc, CombinesToTheCrcOfTheWhole) {
  const std::string text(1000, 'v');
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    const auto a = as_bytes(std::string_view(text).substr(0, cut));
    const auto b = as_bytes(std::string_view(text).substr(cut));
    EXPECT_EQ(crc32c_combine(crc32c(a), crc32c(b), b.size()), crc32c(as_bytes(text)));
    EXPECT_EQ(Crc32cShift(b.size()).combine(crc32c(a), crc32c(b)), crc32c(as_bytes(text)));
    EXPECT_EQ(crc32_combine(crc32(a), crc32(b), b.size()), crc32(as_bytes(text)));
    EXPECT_EQ(crc32c(b, crc32c(a)), crc32c(as_bytes(text)));
    EXPECT_EQ(crc32(b, crc32(a)), crc32(as_bytes(text)));
  }
}

TEST(Xxh3, KnownValues) {
  EXPECT_EQ(xxh3_64(as_bytes("abc")), 0x78af5f94892f3950U);
  const Hash128 hash = xxh3_128(as_bytes("abc"));
  EXPECT_EQ(hash.high, 0x06b05ab6733a6185U);
  EXPECT_EQ(hash.low, 0x78af5f94892f3950U);
}

TEST(Sha256, KnownValue) {
  EXPECT_EQ(to_hex(sha256(as_bytes("abc"))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace varve::base
