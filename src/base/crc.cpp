// SPDX-License-Identifier: MIT OR Apache-2.0
// CRC-32 and CRC-32C by ISA-L, short CRC-32C inputs by the SSE4.2 instruction, and combination.
#include <isa-l/crc.h>

#include <algorithm>
#include <bit>

#include "base/checksum.hpp"
#include "base/endian.hpp"

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace varve::base {

namespace {

constexpr std::uint32_t k_crc32_polynomial = 0xEDB88320;
constexpr std::uint32_t k_crc32c_polynomial = 0x82F63B78;
constexpr std::size_t k_short_input_bytes = 128;  // below, the call into ISA-L costs more
constexpr std::size_t k_piece_bytes = std::size_t{1} << 30;  // crc32_iscsi takes an int length

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc32c_short(ByteSpan bytes, std::uint32_t state) {
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  std::uint64_t wide = state;
  for (; left >= 8; at += 8, left -= 8) {
    wide = _mm_crc32_u64(wide, u64le(at));
  }
  auto narrow = static_cast<std::uint32_t>(wide);
  for (; left > 0; ++at, --left) {
    narrow = _mm_crc32_u8(narrow, u8(*at));
  }
  return narrow;
}
const bool k_has_sse42 = __builtin_cpu_supports("sse4.2") != 0;
#else
std::uint32_t crc32c_short(ByteSpan, std::uint32_t state) { return state; }
const bool k_has_sse42 = false;
#endif

// Multiplication modulo a CRC polynomial, in the reflected representation: bit 31 is x^0.
template <std::uint32_t polynomial>
constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (int i = 0; i < 32; ++i) {
    if ((a & (0x80000000U >> i)) != 0) {
      product ^= b;
    }
    b = (b & 1) != 0 ? (b >> 1) ^ polynomial : b >> 1;
  }
  return product;
}

// x^(8 * 2^k) for k = 0..63: the factors from which every shift by whole bytes is made.
template <std::uint32_t polynomial>
constexpr std::array<std::uint32_t, 64> make_powers() {
  std::array<std::uint32_t, 64> powers{};
  std::uint32_t power = 0x80000000U >> 8;  // x^8
  for (auto& entry : powers) {
    entry = power;
    power = multiply<polynomial>(power, power);
  }
  return powers;
}
template <std::uint32_t polynomial>
constexpr auto k_powers = make_powers<polynomial>();

template <std::uint32_t polynomial>
std::uint32_t shift_factor(std::uint64_t length_bytes) {
  std::uint32_t factor = 0x80000000U;  // x^0
  for (int k = 0; length_bytes != 0; ++k, length_bytes >>= 1) {
    if ((length_bytes & 1) != 0) {
      factor = multiply<polynomial>(factor, k_powers<polynomial>[k]);
    }
  }
  return factor;
}

// The CRC is linear: appending B shifts A's remainder by the length of B.
template <std::uint32_t polynomial>
std::uint32_t combine(std::uint32_t crc_a, std::uint32_t crc_b, std::uint64_t length_b) {
  return multiply<polynomial>(shift_factor<polynomial>(length_b), crc_a) ^ crc_b;
}

}  // namespace

std::uint32_t crc32(ByteSpan bytes, std::uint32_t previous) {
  return crc32_gzip_refl(previous, reinterpret_cast<const unsigned char*>(bytes.data()),
                         bytes.size());
}

std::uint32_t crc32c(ByteSpan bytes, std::uint32_t previous) {
  std::uint32_t state = ~previous;
  if (bytes.size() < k_short_input_bytes && k_has_sse42) {
    return ~crc32c_short(bytes, state);
  }
  while (!bytes.empty()) {
    const std::size_t piece = std::min(bytes.size(), k_piece_bytes);
    // ISA-L's signature lacks the const; it only reads.
    auto* data = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(bytes.data()));
    state = crc32_iscsi(data, static_cast<int>(piece), state);
    bytes = bytes.subspan(piece);
  }
  return ~state;
}

std::uint32_t crc32_combine(std::uint32_t crc_a, std::uint32_t crc_b, std::uint64_t length_b) {
  return combine<k_crc32_polynomial>(crc_a, crc_b, length_b);
}

std::uint32_t crc32c_combine(std::uint32_t crc_a, std::uint32_t crc_b, std::uint64_t length_b) {
  return combine<k_crc32c_polynomial>(crc_a, crc_b, length_b);
}

Crc32cShift::Crc32cShift(std::uint64_t length_b) {
  const std::uint32_t factor = shift_factor<k_crc32c_polynomial>(length_b);
  for (int i = 0; i < 32; ++i) {
    matrix_[i] = multiply<k_crc32c_polynomial>(factor, std::uint32_t{1} << i);
  }
}

std::uint32_t Crc32cShift::combine(std::uint32_t crc_a, std::uint32_t crc_b) const {
  std::uint32_t out = crc_b;
  while (crc_a != 0) {
    out ^= matrix_[std::countr_zero(crc_a)];
    crc_a &= crc_a - 1;
  }
  return out;
}

}  // namespace varve::base
