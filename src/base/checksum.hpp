// SPDX-License-Identifier: MIT OR Apache-2.0
// Checksums and hashes of the four formats. Streaming forms take the previous result.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "base/bytes.hpp"

namespace varve::base {

// CRC-32 (IEEE, zlib; check value 0xCBF43926). `previous` is the CRC of the bytes before, 0 at the
// start.
std::uint32_t crc32(ByteSpan bytes, std::uint32_t previous = 0);
// CRC-32C (Castagnoli; check value 0xE3069283), chained the same way.
std::uint32_t crc32c(ByteSpan bytes, std::uint32_t previous = 0);

// The CRC of A followed by B from the CRCs of A and B and the length of B in bytes.
std::uint32_t crc32_combine(std::uint32_t crc_a, std::uint32_t crc_b, std::uint64_t length_b);
std::uint32_t crc32c_combine(std::uint32_t crc_a, std::uint32_t crc_b, std::uint64_t length_b);

// A prepared combination for one length of B: cheaper where many pieces have the same length.
class Crc32cShift {
 public:
  explicit Crc32cShift(std::uint64_t length_b);
  std::uint32_t combine(std::uint32_t crc_a, std::uint32_t crc_b) const;

 private:
  std::array<std::uint32_t, 32> matrix_;
};

std::uint64_t xxh3_64(ByteSpan bytes);
struct Hash128 {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
};
Hash128 xxh3_128(ByteSpan bytes);

// XXH3-64 of a stream of pieces.
class Xxh3Stream {
 public:
  Xxh3Stream();
  ~Xxh3Stream();
  Xxh3Stream(const Xxh3Stream&) = delete;
  Xxh3Stream& operator=(const Xxh3Stream&) = delete;
  void update(ByteSpan bytes);
  std::uint64_t digest() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

using Sha256 = std::array<std::byte, 32>;
Sha256 sha256(ByteSpan bytes);

// SHA-256 of a stream of pieces.
class Sha256Stream {
 public:
  Sha256Stream();
  ~Sha256Stream();
  Sha256Stream(const Sha256Stream&) = delete;
  Sha256Stream& operator=(const Sha256Stream&) = delete;
  void update(ByteSpan bytes);
  Sha256 digest();  // ends the stream

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace varve::base
