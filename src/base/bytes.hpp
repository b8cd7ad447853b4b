// SPDX-License-Identifier: MIT OR Apache-2.0
// Byte spans, and the growing buffer that encoders write to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/endian.hpp"

namespace varve::base {

using ByteSpan = std::span<const std::byte>;
using Bytes = std::vector<std::byte>;

inline ByteSpan as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
inline std::string_view as_text(ByteSpan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
// memcpy that may be given nothing: a null `from` with `size` 0, as an empty view has it.
inline void copy_bytes(void* to, const void* from, std::size_t size) {
  if (size != 0) {
    std::memcpy(to, from, size);
  }
}
inline std::uint8_t u8(std::byte b) { return static_cast<std::uint8_t>(b); }

// Appends fixed-width integers, varints and bytes to a vector.
class ByteWriter {
 public:
  explicit ByteWriter(Bytes& out) : out_(out) {}
  std::size_t size() const { return out_.size(); }
  void u8(std::uint8_t v) { out_.push_back(static_cast<std::byte>(v)); }
  void u16le(std::uint16_t v) { le(v); }
  void u32le(std::uint32_t v) { le(v); }
  void u64le(std::uint64_t v) { le(v); }
  void i64le(std::int64_t v) { le(static_cast<std::uint64_t>(v)); }
  void u16be(std::uint16_t v) { be(v); }
  void u32be(std::uint32_t v) { be(v); }
  void u64be(std::uint64_t v) { be(v); }
  void bytes(ByteSpan v) { out_.insert(out_.end(), v.begin(), v.end()); }
  void text(std::string_view v) { bytes(as_bytes(v)); }
  void zeros(std::size_t n) { out_.resize(out_.size() + n); }
  // Unsigned LEB128, the shortest form.
  void varint(std::uint64_t v) {
    while (v >= 0x80) {
      u8(static_cast<std::uint8_t>(v | 0x80));
      v >>= 7;
    }
    u8(static_cast<std::uint8_t>(v));
  }

 private:
  template <class T>
  void le(T v) {
    const std::size_t at = out_.size();
    out_.resize(at + sizeof v);
    store_le(out_.data() + at, v);
  }
  template <class T>
  void be(T v) {
    const std::size_t at = out_.size();
    out_.resize(at + sizeof v);
    store_be(out_.data() + at, v);
  }
  Bytes& out_;
};

}  // namespace varve::base
