// SPDX-License-Identifier: MIT OR Apache-2.0
// Loads and stores with the byte order in the name. Pointers need no alignment; the caller has
// checked the bounds (ByteCursor does so for untrusted bytes).
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace varve::base {

static_assert(std::endian::native == std::endian::little ||
              std::endian::native == std::endian::big);

template <std::unsigned_integral T>
constexpr T byte_swap(T value) {
  if constexpr (sizeof(T) == 1) {
    return value;
  } else {
    return std::byteswap(value);
  }
}

template <std::unsigned_integral T>
T load_le(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return std::endian::native == std::endian::little ? value : byte_swap(value);
}
template <std::unsigned_integral T>
T load_be(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return std::endian::native == std::endian::big ? value : byte_swap(value);
}
template <std::unsigned_integral T>
void store_le(void* to, T value) {
  if constexpr (std::endian::native == std::endian::big) value = byte_swap(value);
  std::memcpy(to, &value, sizeof value);
}
template <std::unsigned_integral T>
void store_be(void* to, T value) {
  if constexpr (std::endian::native == std::endian::little) value = byte_swap(value);
  std::memcpy(to, &value, sizeof value);
}

inline std::uint16_t u16le(const void* p) { return load_le<std::uint16_t>(p); }
inline std::uint32_t u32le(const void* p) { return load_le<std::uint32_t>(p); }
inline std::uint64_t u64le(const void* p) { return load_le<std::uint64_t>(p); }
inline std::int64_t i64le(const void* p) { return static_cast<std::int64_t>(u64le(p)); }
inline std::uint16_t u16be(const void* p) { return load_be<std::uint16_t>(p); }
inline std::uint32_t u32be(const void* p) { return load_be<std::uint32_t>(p); }
inline std::uint64_t u64be(const void* p) { return load_be<std::uint64_t>(p); }

}  // namespace varve::base
