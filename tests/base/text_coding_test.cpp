// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/text_coding.hpp"

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <random>

#include "tests/support.hpp"

namespace varve::base {
namespace {

Bytes random_bytes(std::mt19937_64& random, std::size_t count) {
  Bytes out(count);
  for (std::byte& b : out) {
    b = static_cast<std::byte>(random());
  }
  return out;
}

// Base64 by libcrypto, padding taken off.
std::string other_base64(ByteSpan bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int n = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                reinterpret_cast<const unsigned char*>(bytes.data()),
                                static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(n));
  while (out.ends_with('=')) {
    out.pop_back();
  }
  return out;
}

// Base32 a bit at a time.
std::string other_base32(ByteSpan bytes) {
  std::string out;
  for (std::size_t bit = 0; bit < bytes.size() * 8; bit += 5) {
    unsigned digit = 0;
    for (std::size_t i = bit; i < bit + 5; ++i) {
      digit = digit << 1 | (i < bytes.size() * 8 ? (u8(bytes[i / 8]) >> (7 - i % 8)) & 1U : 0U);
    }
    out += "abcdefghijklmnopqrstuvwxyz234567"[digit];
  }
  return out;
}

TEST(TextCoding, AgreesWithOthersAndComesBack) {
  std::mt19937_64 random(1);
  for (std::size_t length = 0; length < 300; ++length) {
    const Bytes bytes = random_bytes(random, length);
    EXPECT_EQ(to_base64(bytes), other_base64(bytes));
    std::string base32;
    append_base32(base32, bytes);
    EXPECT_EQ(base32, other_base32(bytes));
    EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
    EXPECT_EQ(from_base32(base32), bytes);
    EXPECT_EQ(from_hex(to_hex(bytes)), bytes);
  }
}

TEST(TextCoding, RfcVectors) {
  EXPECT_EQ(to_base64(as_bytes("foobar")), "Zm9vYmFy");
  EXPECT_EQ(to_base64(as_bytes("fooba")), "Zm9vYmE");
  EXPECT_EQ(from_base64("Zm9vYmE="), from_base64("Zm9vYmE"));
  EXPECT_EQ(from_base64("Zm9vYg=="), from_base64("Zm9vYg"));
  std::string base32;
  append_base32(base32, as_bytes("foobar"));
  EXPECT_EQ(base32, "mzxw6ytboi");
  EXPECT_EQ(to_hex(as_bytes("\x01\xAB")), "01ab");
  EXPECT_EQ(from_hex("01Ab"), from_hex("01aB"));
}

TEST(TextCoding, RefusesWhatIsNotWellFormed) {
  for (const std::string_view text : {"0", "0g", "zz", "0x12", "12 ", "123"}) {
    EXPECT_EQ(from_hex(text), std::nullopt) << text;
  }
  for (const std::string_view text :
       {"A", "AB=", "Zm9vYh", "Zm9v-mE", "Zm9vYmE==", "====", "Zm=v", "Zm9vYmFyA"}) {
    EXPECT_EQ(from_base64(text), std::nullopt) << text;
  }
  for (const std::string_view text : {"a", "mzxw6ytbo", "MZXW6", "mzxw1", "mzxw6yr=", "ab1"}) {
    EXPECT_EQ(from_base32(text), std::nullopt) << text;
  }
}

// UTF-8 by the table of the Unicode standard (well-formed byte sequences).
bool other_is_utf8(std::string_view text) {
  const auto at = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  for (std::size_t i = 0; i < text.size();) {
    const unsigned lead = at(i);
    const auto tail = [&](std::size_t k, unsigned low = 0x80, unsigned high = 0xBF) {
      return at(i + k) >= low && at(i + k) <= high;
    };
    if (lead <= 0x7F) {
      i += 1;
    } else if (lead >= 0xC2 && lead <= 0xDF && tail(1)) {
      i += 2;
    } else if ((lead == 0xE0 && tail(1, 0xA0) && tail(2)) ||
               (lead >= 0xE1 && lead <= 0xEF && lead != 0xED && tail(1) && tail(2)) ||
               (lead == 0xED && tail(1, 0x80, 0x9F) && tail(2))) {
      i += 3;
    } else if ((lead == 0xF0 && tail(1, 0x90) && tail(2) && tail(3)) ||
               (lead >= 0xF1 && lead <= 0xF3 && tail(1) && tail(2) && tail(3)) ||
               (lead == 0xF4 && tail(1, 0x80, 0x8F) && tail(2) && tail(3))) {
      i += 4;
    } else {
      return false;
    }
  }
  return true;
}

TEST(Utf8, AgreesWithTheTableOnRandomBytes) {
  std::mt19937_64 random(2);
  static constexpr unsigned char k_leads[] = {0x41, 0x7F, 0x80, 0xBF, 0xC0, 0xC2, 0xDF,
                                              0xE0, 0xE1, 0xED, 0xEF, 0xF0, 0xF3, 0xF4,
                                              0xF5, 0xFF, 0x9F, 0xA0, 0x90, 0x8F, 0x00};
  const std::uint64_t texts = varve::test::scaled(200'000);
  std::uint64_t well_formed = 0;
  for (std::uint64_t i = 0; i < texts; ++i) {
    std::string text(random() % 3 == 0 ? 60 + random() % 20 : 0, 'a');
    for (std::uint64_t left = random() % 5; left > 0; --left) {
      text += static_cast<char>(k_leads[random() % std::size(k_leads)]);
    }
    ASSERT_EQ(is_utf8(text), other_is_utf8(text)) << to_hex(as_bytes(text));
    well_formed += other_is_utf8(text) ? 1 : 0;
  }
  EXPECT_GT(well_formed, texts / 20);
  EXPECT_LT(well_formed, texts - texts / 20);
}

}  // namespace
}  // namespace varve::base
