// SPDX-License-Identifier: MIT OR Apache-2.0
#include "arena/codec.hpp"

#include <algorithm>
#include <cassert>

#include "base/checksum.hpp"
#include "base/compression.hpp"
#include "base/endian.hpp"
#include "base/mutant.hpp"

namespace varve::arena {

FrameHeader decode_header(const std::byte* bytes) {
  return {base::u32le(bytes + k_crc32_offset), base::u32le(bytes + k_raw_len_offset),
          base::u32le(bytes + k_comp_len_offset), base::u32le(bytes + k_seq_offset)};
}

namespace {

HeaderCheck invalid(const FrameHeader& header, const char* word, std::uint64_t field_offset,
                    Number expected, Number actual) {
  return {UnitKind::invalid, header, Fault{word, field_offset, expected, actual}};
}

}  // namespace

HeaderCheck check_header(const FrameHeader& header, std::uint64_t room) {
  assert(room >= k_header_bytes);
  if (header.raw_len == 0 && header.comp_len == 0) {
    if (header.crc32 == 0 && header.seq == k_marker_seq &&
        !base::mutant("arena-both-zero-marker")) {
      return {UnitKind::marker, header, {}};
    }
    if (header.crc32 == 0 && header.seq == 0 && !base::mutant("arena-zero-header")) {
      return {UnitKind::zero_header, header, {}};
    }
    return invalid(header, reason::k_both_lengths_zero, k_raw_len_offset, {}, {});
  }
  if (header.raw_len == 0 ||
      header.raw_len > k_max_payload_bytes + (base::mutant("arena-raw-len-cap") ? 1U : 0U)) {
    return invalid(header, reason::k_raw_len, k_raw_len_offset,
                   Number::decimal(k_max_payload_bytes), Number::decimal(header.raw_len));
  }
  if (header.comp_len == 0 ||
      (header.comp_len > header.raw_len && !base::mutant("arena-comp-len"))) {
    return invalid(header, reason::k_comp_len, k_comp_len_offset, Number::decimal(header.raw_len),
                   Number::decimal(header.comp_len));
  }
  const std::uint64_t most = k_max_lz4_ratio * header.comp_len;
  if (header.compressed() && header.raw_len > most && !base::mutant("arena-ratio")) {
    return invalid(header, reason::k_ratio, k_raw_len_offset, Number::decimal(most),
                   Number::decimal(header.raw_len));
  }
  if (header.comp_len > room - (base::mutant("arena-bounds") ? 0 : k_header_bytes)) {
    return invalid(header, reason::k_bounds, k_comp_len_offset,
                   Number::decimal(room - k_header_bytes), Number::decimal(header.comp_len));
  }
  return {UnitKind::frame, header, {}};
}

namespace {

// True if two neighbouring bytes are zero. May be true where they are not, never the reverse.
bool may_have_zero_pair(base::ByteSpan bytes) {
  constexpr std::uint64_t k_ones = 0x0101010101010101ULL;
  constexpr std::uint64_t k_highs = 0x8080808080808080ULL;
  std::size_t at = 0;
  for (; at + 9 <= bytes.size(); at += base::mutant("arena-zero-pair-stride") ? 9 : 8) {
    const std::uint64_t either =
        base::u64le(bytes.data() + at) | base::u64le(bytes.data() + at + 1);
    if (((either - k_ones) & ~either & k_highs) != 0) {
      return true;
    }
  }
  for (; at + 2 <= bytes.size(); ++at) {
    if ((bytes[at] | bytes[at + 1]) == std::byte{0}) {
      return true;
    }
  }
  return false;
}

// liblz4 takes a match distance of 0, which section 3.1 forbids. Such a distance is two zero
// bytes, which most blocks do not have, so that few need the token walk.
bool decode_block(base::ByteSpan block, std::span<std::byte> out) {
  std::uint64_t steps = 0;
  if (!base::mutant("arena-lz4-offset-zero") && may_have_zero_pair(block) &&
      !lz4_block_plausible(block, out.size(), steps)) {
    return false;
  }
  return base::lz4_decode(block, out);
}

}  // namespace

std::optional<Fault> check_data(const FrameHeader& header, base::ByteSpan data, std::byte* room,
                                base::ByteSpan& payload) {
  assert(data.size() == header.comp_len);
  if (header.compressed()) {
    if (!decode_block(data, {room, header.raw_len})) {
      return Fault{reason::k_lz4, k_header_bytes, {}, {}};
    }
    payload = {room, header.raw_len};
  } else {
    payload = data;
  }
  const std::uint32_t crc = base::crc32(payload);
  if (crc != header.crc32 && !base::mutant("arena-crc")) {
    return Fault{reason::k_crc, k_crc32_offset, Number::hex32(header.crc32), Number::hex32(crc)};
  }
  return std::nullopt;
}

namespace {

void encode_header(const FrameHeader& header, std::byte* to) {
  base::store_le(to + k_crc32_offset, header.crc32);
  base::store_le(to + k_raw_len_offset, header.raw_len);
  base::store_le(to + k_comp_len_offset, header.comp_len);
  base::store_le(to + k_seq_offset, header.seq);
}

}  // namespace

FrameHeader append_frame(base::ByteSpan payload, std::uint32_t seq, base::Bytes& out) {
  assert(!payload.empty() && payload.size() <= k_max_payload_bytes);
  const std::size_t at = out.size();
  out.resize(at + k_header_bytes + payload.size());
  std::byte* data = out.data() + at + k_header_bytes;
  std::size_t stored = base::lz4_encode_to(payload, {data, payload.size() - 1});
  if (stored == 0) {
    std::copy(payload.begin(), payload.end(), data);
    stored = payload.size();
  }
  out.resize(at + k_header_bytes + stored);

  const FrameHeader header{base::crc32(payload), static_cast<std::uint32_t>(payload.size()),
                           static_cast<std::uint32_t>(stored), seq};
  encode_header(header, out.data() + at);
  return header;
}

void append_stored_frame(const FrameHeader& header, base::ByteSpan data, base::Bytes& out) {
  assert(data.size() == header.comp_len);
  const std::size_t at = out.size();
  out.resize(at + k_header_bytes);
  encode_header(header, out.data() + at);
  out.insert(out.end(), data.begin(), data.end());
}

void append_marker(base::Bytes& out) {
  base::ByteWriter writer(out);
  writer.zeros(k_seq_offset);
  writer.u32le(k_marker_seq);
}

namespace {

constexpr unsigned k_long_length = 15;  // a nibble that is continued by further bytes
constexpr std::uint64_t k_shortest_match = 4;

// Adds the continuation bytes of a length; false if the block ends inside.
bool extend_length(base::ByteSpan block, std::size_t& at, std::uint64_t& length) {
  for (;;) {
    if (at >= block.size()) {
      return false;
    }
    const std::uint8_t more = base::u8(block[at++]);
    length += more;
    if (more != 255) {
      return true;
    }
  }
}

}  // namespace

bool lz4_block_plausible(base::ByteSpan block, std::uint64_t raw_len, std::uint64_t& steps) {
  std::size_t at = 0;
  std::uint64_t produced = 0;
  while (at < block.size()) {
    ++steps;
    const std::uint8_t token = base::u8(block[at++]);
    std::uint64_t literals = token >> 4;
    if (literals == k_long_length && !extend_length(block, at, literals)) {
      return false;
    }
    if (literals > block.size() - at + (base::mutant("arena-plausible-literals") ? 1 : 0)) {
      return false;
    }
    at += literals;
    produced += literals;
    if (produced > raw_len) {
      return false;
    }
    if (at == block.size()) {
      return produced == raw_len;
    }
    if (block.size() - at < 2) {
      return false;
    }
    const std::uint64_t distance = base::u16le(block.data() + at);
    at += 2;
    if (distance == 0 || (distance > produced && !base::mutant("arena-plausible-distance"))) {
      return false;
    }
    std::uint64_t match = token & 15U;
    if (match == k_long_length && !extend_length(block, at, match)) {
      return false;
    }
    produced += match + k_shortest_match;
    if (produced > raw_len) {
      return false;
    }
  }
  return false;
}

}  // namespace varve::arena
