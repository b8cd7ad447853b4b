// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/cid.hpp"

#include <array>
#include <cstring>

#include "base/checksum.hpp"
#include "base/cursor.hpp"
#include "base/text_coding.hpp"

namespace varve::jss {

namespace {

constexpr std::size_t k_max_varint_bytes = 9;
constexpr std::uint64_t k_cid_version = 1;
// Version 1, codec dag-cbor, hash sha2-256, a digest of 32 bytes.
constexpr std::array<std::uint8_t, 4> k_record_prefix = {0x01, 0x71, 0x12, 0x20};

// A varint in its shortest form.
std::optional<std::uint64_t> shortest_varint(base::ByteCursor& cursor) {
  const std::size_t from = cursor.position();
  const base::ByteSpan rest = cursor.rest();
  const auto value = cursor.varint(k_max_varint_bytes);
  const std::size_t bytes = cursor.position() - from;
  if (!value || (bytes > 1 && base::u8(rest[bytes - 1]) == 0)) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

bool is_cid(base::ByteSpan cid) {
  base::ByteCursor cursor(cid);
  const auto version = shortest_varint(cursor);
  if (version != k_cid_version) {
    return false;
  }
  const auto codec = shortest_varint(cursor);
  const auto hash = codec ? shortest_varint(cursor) : std::nullopt;
  const auto digest_bytes = hash ? shortest_varint(cursor) : std::nullopt;
  return digest_bytes && *digest_bytes == cursor.remaining();
}

void append_cid_text(std::string& out, base::ByteSpan cid) {
  out += 'b';
  base::append_base32(out, cid);
}

std::optional<base::Bytes> parse_cid(std::string_view text) {
  if (!text.starts_with('b')) {
    return std::nullopt;
  }
  auto cid = base::from_base32(text.substr(1));
  if (!cid || !is_cid(*cid)) {
    return std::nullopt;
  }
  return cid;
}

void append_record_cid(std::string& out, base::ByteSpan payload) {
  std::array<std::byte, k_record_prefix.size() + sizeof(base::Sha256)> cid;
  const base::Sha256 digest = base::sha256(payload);
  std::memcpy(cid.data(), k_record_prefix.data(), k_record_prefix.size());
  std::memcpy(cid.data() + k_record_prefix.size(), digest.data(), digest.size());
  append_cid_text(out, cid);
}

}  // namespace varve::jss
