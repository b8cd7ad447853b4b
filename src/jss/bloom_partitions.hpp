// SPDX-License-Identifier: MIT OR Apache-2.0
// Section 9.3: how the 512 bits of a bloom block are parted among the k bits of a key. The order
// matters: part i begins where part i-1 ends.
#pragma once

#include <array>
#include <cstdint>
#include <numeric>
#include <span>

namespace varve::jss {

inline constexpr std::uint32_t k_min_hash_count = 3;
inline constexpr std::uint32_t k_max_hash_count = 17;

namespace detail {
// One row after the other, k = 3 first: row k has k parts and begins at (k-3)(k+2)/2.
inline constexpr std::array<std::uint16_t, 150> k_bloom_parts = {
    167, 173, 172,                                                               // 3
    109, 127, 137, 139,                                                          // 4
    97,  101, 103, 109, 102,                                                     // 5
    61,  79,  83,  89,  97,  103,                                                // 6
    61,  67,  71,  79,  83,  89,  62,                                            // 7
    37,  47,  53,  61,  67,  71,  79, 97,                                        // 8
    41,  43,  47,  53,  59,  67,  71, 73, 58,                                    // 9
    31,  37,  41,  43,  47,  53,  59, 61, 67, 73,                                // 10
    29,  31,  37,  41,  43,  44,  47, 53, 59, 61, 67,                            // 11
    17,  23,  29,  31,  37,  41,  43, 47, 53, 59, 61, 71,                        // 12
    17,  19,  23,  29,  31,  37,  41, 43, 47, 52, 53, 59, 61,                    // 13
    11,  13,  17,  19,  23,  29,  31, 37, 41, 47, 53, 59, 61, 71,                // 14
    11,  13,  17,  19,  23,  28,  29, 31, 37, 41, 43, 47, 53, 59, 61,            // 15
    5,   7,   11,  13,  17,  19,  23, 27, 29, 31, 37, 41, 43, 47, 53, 109,       // 16
    3,   5,   7,   11,  13,  17,  19, 23, 29, 31, 32, 37, 41, 43, 47, 53,  101,  // 17
};
constexpr std::size_t first_part(std::uint32_t hash_count) {
  return static_cast<std::size_t>(hash_count - 3) * (hash_count + 2) / 2;
}
// For each part the number with which a remainder takes two multiplications: see bloom_remainder.
inline constexpr auto k_bloom_reciprocals = [] {
  std::array<std::uint64_t, k_bloom_parts.size()> out{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = ~std::uint64_t{0} / k_bloom_parts[i] + 1;
  }
  return out;
}();
}  // namespace detail

// The parts for k = `hash_count`; empty if there is no such row.
constexpr std::span<const std::uint16_t> bloom_parts(std::uint32_t hash_count) {
  if (hash_count < k_min_hash_count || hash_count > k_max_hash_count) {
    return {};
  }
  return std::span(detail::k_bloom_parts).subspan(detail::first_part(hash_count), hash_count);
}
// Of each of these parts the reciprocal; `hash_count` must have a row.
constexpr std::span<const std::uint64_t> bloom_reciprocals(std::uint32_t hash_count) {
  return std::span(detail::k_bloom_reciprocals).subspan(detail::first_part(hash_count), hash_count);
}

// value % part, given part's reciprocal: the product's low 64 bits are the fraction of value /
// part, exact enough for every 32-bit value (Lemire, Kaser and Kurz, "Faster remainder by direct
// computation", 2019).
constexpr std::uint32_t bloom_remainder(std::uint32_t value, std::uint32_t part,
                                        std::uint64_t reciprocal) {
  __extension__ using Product = unsigned __int128;
  return static_cast<std::uint32_t>((static_cast<Product>(reciprocal * value) * part) >> 64);
}

}  // namespace varve::jss
