// SPDX-License-Identifier: MIT OR Apache-2.0
// The only way to read untrusted bytes: each take checks what is left first. A failed take leaves
// the cursor where it was, so that the caller can report the position.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.hpp"

namespace varve::base {

class ByteCursor {
 public:
  explicit ByteCursor(ByteSpan bytes) : bytes_(bytes) {}

  std::size_t position() const { return position_; }
  std::size_t remaining() const { return bytes_.size() - position_; }
  bool at_end() const { return remaining() == 0; }
  ByteSpan rest() const { return bytes_.subspan(position_); }

  std::optional<std::uint8_t> u8() {
    return take<std::uint8_t>([](const void* p) { return *static_cast<const std::uint8_t*>(p); });
  }
  std::optional<std::uint16_t> u16le() { return take<std::uint16_t>(base::u16le); }
  std::optional<std::uint32_t> u32le() { return take<std::uint32_t>(base::u32le); }
  std::optional<std::uint64_t> u64le() { return take<std::uint64_t>(base::u64le); }
  std::optional<std::uint16_t> u16be() { return take<std::uint16_t>(base::u16be); }
  std::optional<std::uint32_t> u32be() { return take<std::uint32_t>(base::u32be); }
  std::optional<std::uint64_t> u64be() { return take<std::uint64_t>(base::u64be); }

  std::optional<ByteSpan> bytes(std::uint64_t count) {
    if (count > remaining()) {
      return std::nullopt;
    }
    const ByteSpan out = bytes_.subspan(position_, static_cast<std::size_t>(count));
    position_ += static_cast<std::size_t>(count);
    return out;
  }
  bool skip(std::uint64_t count) { return bytes(count).has_value(); }
  std::optional<std::uint8_t> peek_u8() const {
    if (at_end()) {
      return std::nullopt;
    }
    return base::u8(bytes_[position_]);
  }

  // Unsigned LEB128 of at most `max_bytes` bytes whose value fits in 64 bits; redundant zero groups
  // are accepted within that length. nullopt if the input ends inside or the value is too large.
  std::optional<std::uint64_t> varint(std::size_t max_bytes = 10) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < max_bytes; ++i) {
      if (i >= remaining()) {
        return std::nullopt;
      }
      const std::uint64_t byte = base::u8(bytes_[position_ + i]);
      if (i == 9 && byte > 1) {
        return std::nullopt;
      }
      value |= (byte & 0x7F) << (7 * i);
      if ((byte & 0x80) == 0) {
        position_ += i + 1;
        return value;
      }
    }
    return std::nullopt;
  }

 private:
  template <class T, class Load>
  std::optional<T> take(Load load) {
    if (remaining() < sizeof(T)) {
      return std::nullopt;
    }
    const T value = load(bytes_.data() + position_);
    position_ += sizeof(T);
    return value;
  }

  ByteSpan bytes_;
  std::size_t position_ = 0;
};

}  // namespace varve::base
