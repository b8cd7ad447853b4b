// SPDX-License-Identifier: MIT OR Apache-2.0
// What the tests of this folder share: vectors as bytes, the fixtures' manifests, small stores.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "base/text_coding.hpp"
#include "tests/support.hpp"

namespace varve::tay::test {

using base::Bytes;
using base::ByteSpan;

// Bytes from hex text; white space between digits is skipped.
inline Bytes unhex(std::string_view text) {
  std::string digits;
  for (const char c : text) {
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t') {
      digits += c;
    }
  }
  return base::from_hex(digits).value();
}

inline Bytes to_bytes(std::string_view content) {
  const ByteSpan span = base::as_bytes(content);
  return {span.begin(), span.end()};
}

inline std::string sha256_hex(ByteSpan bytes) { return base::to_hex(base::sha256(bytes)); }

// A file below the shared fixtures of this format.
inline varve::test::fs::path fixture(std::string_view relative) {
  return varve::test::shared_path("fixtures/tay") / relative;
}
inline Bytes fixture_bytes(std::string_view relative) {
  return to_bytes(varve::test::read_file(fixture(relative)));
}
inline Bytes fixture_hex(std::string_view relative) {
  return unhex(varve::test::read_file(fixture(relative)));
}

}  // namespace varve::tay::test
