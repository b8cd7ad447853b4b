// SPDX-License-Identifier: MIT OR Apache-2.0
// The fixed objects: STORE (section 5), segment header (6.1), segment footer (6.2).
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/bytes.hpp"
#include "tay/layout.hpp"
#include "varve/result.hpp"

namespace varve::tay {

using base::Bytes;
using base::ByteSpan;

// STORE_ID, a job id, an epoch id. All-zero is never a valid one.
using Id = std::array<std::byte, k_id_bytes>;
inline bool is_zero(const Id& id) { return id == Id{}; }
Id load_id(const std::byte* from);

// What is wrong with a fixed object, in the words of the specification.
struct ObjectFault {
  enum class Class : std::uint8_t {
    incomplete,   // the bytes end before the object does
    corrupt,      // includes breaches of the object's own rules
    unsupported,  // version 2..255, or flags
    mismatch,     // id or STORE_ID disagree with the file name or STORE: `id_or_store_mismatch`
    segment_crc,  // the footer is sound, the bytes it covers are not what it says
  };
  Class type = Class::corrupt;
  Fault fault;                  // `word`, place in the object, the two values
  std::uint64_t available = 0;  // bytes that were there
};

// Steps 1 to 7 of section 5's order for an object of `size` bytes with `magic`; `crc_at` is where
// its own CRC stands. `incomplete_word` names the object cut short.
std::optional<ObjectFault> check_fixed_object(ByteSpan bytes, std::string_view magic,
                                              std::size_t size, const char* incomplete_word);

// `bytes`: the whole file, or its first bytes as long as there are more than 28.
std::optional<ObjectFault> decode_store(ByteSpan bytes, Id& out);
void encode_store(const Id& store_id, Bytes& out);

struct SegmentHeader {
  std::uint64_t segment_id = 0;
  std::uint64_t first_sequence = 0;
  Id store_id{};
};
// The object by itself: everything but the comparisons with file name, STORE and file size.
std::optional<ObjectFault> decode_header(ByteSpan bytes, SegmentHeader& out);
// The rest of section 6.1's order.
std::optional<ObjectFault> check_header_place(const SegmentHeader& header, std::uint64_t name_id,
                                              const Id& store_id, std::uint64_t file_bytes);
void encode_header(const SegmentHeader& header, Bytes& out);

struct SegmentFooter {
  std::uint64_t segment_id = 0;
  std::uint64_t first_sequence = 0;
  std::uint64_t last_sequence = 0;
  std::uint64_t record_count = 0;
  Id store_id{};
  std::uint32_t segment_crc = 0;
};
// The object by itself, up to the range of the count.
std::optional<ObjectFault> decode_footer(ByteSpan bytes, SegmentFooter& out);
// The comparisons with the header, and of the footer's numbers among themselves.
std::optional<ObjectFault> check_footer_header(const SegmentFooter& footer,
                                               const SegmentHeader& header);
// The comparisons with what a walk of the whole segment saw; the segment CRC comes last.
std::optional<ObjectFault> check_footer_records(const SegmentFooter& footer,
                                                std::uint64_t record_count,
                                                std::uint64_t last_sequence,
                                                std::uint32_t segment_crc);
void encode_footer(const SegmentFooter& footer, Bytes& out);

}  // namespace varve::tay
