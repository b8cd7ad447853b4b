// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/crc32_shift.hpp"

#include <cassert>

#include "base/endian.hpp"

namespace varve::base {

namespace {

constexpr std::uint32_t k_polynomial = 0xEDB88320U;
constexpr std::uint32_t k_one = 0x80000000U;  // x^0 in the reflected representation
constexpr std::uint32_t k_byte = k_one >> 8;  // x^8
constexpr unsigned k_table_bits = 13;
constexpr std::size_t k_table_size = std::size_t{1} << k_table_bits;
constexpr std::uint32_t k_uses_worth_a_table = 64;
constexpr std::uint32_t k_misses_to_lose_a_table = 4096;

constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (; a != 0; a <<= 1) {
    product ^= b & (0U - (a >> 31));
    b = (b >> 1) ^ (k_polynomial & (0U - (b & 1U)));
  }
  return product;
}

using Table = std::array<std::uint32_t, 256>;

// Entry [k][b]: what byte b becomes after k further zero bytes.
constexpr std::array<Table, 8> make_step_tables() {
  std::array<Table, 8> tables{};
  for (std::uint32_t b = 0; b < 256; ++b) {
    std::uint32_t value = b;
    for (Table& table : tables) {
      for (int i = 0; i < 8; ++i) {
        value = (value >> 1) ^ (k_polynomial & (0U - (value & 1U)));
      }
      table[b] = value;
    }
  }
  return tables;
}
constexpr std::array<Table, 8> k_steps = make_step_tables();

}  // namespace

std::uint32_t crc32_short(ByteSpan bytes, std::uint32_t previous) {
  std::uint32_t state = ~previous;
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; at += 8, left -= 8) {
    const std::uint64_t word = u64le(at) ^ state;
    std::uint32_t next = 0;
    for (unsigned k = 0; k < 8; ++k) {
      next ^= k_steps[7 - k][(word >> (8 * k)) & 255U];
    }
    state = next;
  }
  for (; left > 0; ++at, --left) {
    state = (state >> 8) ^ k_steps[0][(state ^ u8(*at)) & 255U];
  }
  return ~state;
}

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
    if (!cached.tables || ++cached.misses > k_misses_to_lose_a_table) {
      cached.length = length;
      cached.uses = 1;
      cached.misses = 0;
      cached.tables.reset();
    }
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
