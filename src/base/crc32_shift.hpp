// SPDX-License-Identifier: MIT OR Apache-2.0
// CRC-32 arithmetic: the CRC of any piece of a text from the CRCs of its prefixes, in constant
// time. With C(x) the CRC of the first x bytes, the CRC of [a, b) is shift(C(a), b - a) ^ C(b).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.hpp"

namespace varve::base {

// crc32() for a few bytes: inline steps from tables, where a call into the library costs more.
std::uint32_t crc32_short(ByteSpan bytes, std::uint32_t previous = 0);

// Shifts CRC-32 values over zero bytes (multiplies by x^(8n) modulo the polynomial). Keeps tables
// for the lengths that come up often, so that hostile repetition stays cheap. Not thread-safe.
class Crc32Shift {
 public:
  static constexpr std::uint64_t k_max_length = std::uint64_t{1} << 26;

  Crc32Shift();
  // `length` in bytes, below k_max_length.
  std::uint32_t shift(std::uint32_t crc, std::uint64_t length);
  // The CRC of [a, b) from those of the prefixes that end at a and at b.
  std::uint32_t between(std::uint32_t crc_a, std::uint32_t crc_b, std::uint64_t length) {
    return shift(crc_a, length) ^ crc_b;
  }
  // The CRC of a text followed by `length` zero bytes, from the CRC of the text.
  std::uint32_t append_zeros(std::uint32_t crc, std::uint64_t length) {
    return ~shift(~crc, length);
  }

 private:
  struct Cached {
    std::uint64_t length = 0;
    std::uint32_t uses = 0;
    std::uint32_t misses = 0;  // lengths that came by since and would have taken the place
    std::unique_ptr<std::array<std::array<std::uint32_t, 256>, 4>> tables;
  };
  std::uint32_t factor(std::uint64_t length) const;

  std::vector<std::uint32_t> low_;   // x^(8i), i < 2^13
  std::vector<std::uint32_t> high_;  // x^(8i * 2^13), i < 2^13
  std::array<Cached, 64> cache_;
};

}  // namespace varve::base
