// SPDX-License-Identifier: MIT OR Apache-2.0
// Bytes without a pattern, and bytes that are nothing but one.
#pragma once

#include <random>
#include <string>
#include <string_view>

namespace varve::test {

inline std::string noise(std::size_t length, unsigned seed) {
  std::mt19937 random(seed);
  std::string out(length, '\0');
  for (char& c : out) {
    c = static_cast<char>(random());
  }
  return out;
}

inline std::string repeated_bytes(std::string_view pattern, std::size_t length) {
  std::string out;
  while (out.size() < length) {
    out += pattern;
  }
  out.resize(length);
  return out;
}

}  // namespace varve::test
