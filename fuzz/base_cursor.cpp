// SPDX-License-Identifier: MIT OR Apache-2.0
// The byte cursor driven by its own input: the first half says what to take, the second half is
// taken from. Positions add up and failed takes move nothing.
#include <cstdlib>

#include "base/cursor.hpp"

namespace {

using namespace varve::base;

void must(bool fine) {
  if (!fine) {
    std::abort();
  }
}

// A varint read again by its definition: seven bits a byte, in 64 bits, at most `max_bytes` long.
std::optional<std::uint64_t> plain_varint(ByteSpan bytes, std::size_t max_bytes) {
  unsigned __int128 value = 0;
  for (std::size_t i = 0; i < bytes.size() && i < max_bytes; ++i) {
    value |= static_cast<unsigned __int128>(u8(bytes[i]) & 0x7F) << (7 * i);
    if (u8(bytes[i]) < 0x80) {
      return value >> 64 == 0 ? std::optional(static_cast<std::uint64_t>(value)) : std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteSpan all{reinterpret_cast<const std::byte*>(data), size};
  const ByteSpan orders = all.first(size / 2);
  ByteCursor cursor(all.subspan(size / 2));
  for (const std::byte order : orders) {
    const std::size_t before = cursor.position();
    const std::size_t left = cursor.remaining();
    const std::uint8_t word = u8(order);
    std::size_t wanted = 0;
    bool taken = false;
    switch (word % 10) {
      case 0:
        wanted = 1;
        taken = cursor.u8().has_value();
        break;
      case 1:
        wanted = 2;
        taken = cursor.u16le().has_value();
        break;
      case 2:
        wanted = 4;
        taken = cursor.u32le().has_value();
        break;
      case 3:
        wanted = 8;
        taken = cursor.u64le().has_value();
        break;
      case 4:
        wanted = 2;
        taken = cursor.u16be().has_value();
        break;
      case 5:
        wanted = 4;
        taken = cursor.u32be().has_value();
        break;
      case 6:
        wanted = 8;
        taken = cursor.u64be().has_value();
        break;
      case 7: {
        wanted = word;
        const auto bytes = cursor.bytes(wanted);
        taken = bytes.has_value();
        must(!taken || bytes->size() == wanted);
        break;
      }
      case 8:
        must(!cursor.skip(UINT64_MAX - word));
        must(cursor.position() == before);
        continue;
      default: {
        const std::size_t max_bytes = 1 + word / 10 % 12;
        const auto expected = plain_varint(cursor.rest(), max_bytes > 10 ? 10 : max_bytes);
        const auto value = cursor.varint(max_bytes > 10 ? 10 : max_bytes);
        must(value == expected);
        must(value || cursor.position() == before);
        continue;
      }
    }
    must(taken == (wanted <= left));
    must(cursor.position() == before + (taken ? wanted : 0));
  }
  return 0;
}
