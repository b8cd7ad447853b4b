// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/crc32_shift.hpp"

#include <cassert>

namespace varve::base {

namespace {

constexpr std::uint32_t k_polynomial = 0xEDB88320U;
constexpr std::uint32_t k_one = 0x80000000U;  // x^0 in the reflected representation
constexpr std::uint32_t k_byte = k_one >> 8;  // x^8
constexpr unsigned k_table_bits = 13;
constexpr std::size_t k_table_size = std::size_t{1} << k_table_bits;
constexpr std::uint32_t k_uses_worth_a_table = 64;

constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (; a != 0; a <<= 1) {
    product ^= b & (0U - (a >> 31));
    b = (b >> 1) ^ (k_polynomial & (0U - (b & 1U)));
  }
  return product;
}

}  // namespace

Crc32Shift::Crc32Shift() : low_(k_table_size), high_(k_table_size) {
  std::uint32_t power = k_one;
  for (std::uint32_t& entry : low_) {
    entry = power;
    power = multiply(power, k_byte);
  }
  const std::uint32_t stride = power;  // x^(8 * 2^13)
  power = k_one;
  for (std::uint32_t& entry : high_) {
    entry = power;
    power = multiply(power, stride);
  }
}

std::uint32_t Crc32Shift::factor(std::uint64_t length) const {
  return multiply(low_[length % k_table_size], high_[length / k_table_size]);
}

std::uint32_t Crc32Shift::shift(std::uint32_t crc, std::uint64_t length) {
  assert(length < k_max_length);
  Cached& cached = cache_[(length ^ (length >> 6)) % cache_.size()];
  if (cached.length != length || cached.uses == 0) {
    cached.length = length;
    cached.uses = 1;
    cached.tables.reset();
    return multiply(factor(length), crc);
  }
  if (!cached.tables) {
    const std::uint32_t by = factor(length);
    if (++cached.uses < k_uses_worth_a_table) {
      return multiply(by, crc);
    }
    cached.tables = std::make_unique<std::array<std::array<std::uint32_t, 256>, 4>>();
    for (unsigned byte = 0; byte < 4; ++byte) {
      for (std::uint32_t value = 0; value < 256; ++value) {
        (*cached.tables)[byte][value] = multiply(by, value << (8 * byte));
      }
    }
  }
  const auto& tables = *cached.tables;
  return tables[0][crc & 255U] ^ tables[1][(crc >> 8) & 255U] ^ tables[2][(crc >> 16) & 255U] ^
         tables[3][crc >> 24];
}

}  // namespace varve::base
