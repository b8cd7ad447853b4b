// SPDX-License-Identifier: MIT OR Apache-2.0
// Record v1 (section 7): the frame around one opaque payload.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "tay/layout.hpp"
#include "varve/result.hpp"

namespace varve::tay {

using base::Bytes;
using base::ByteSpan;

enum class RecordStatus : std::uint8_t {
  record,               // whole and proven
  incomplete_header,    // the input ends in the 24 header bytes
  incomplete_payload,   // ... in the payload
  incomplete_checksum,  // ... in the 4 bytes behind it
  corrupt,
  unsupported,     // a newer framing version, or flags
  resource_limit,  // the payload is longer than the caller's budget
};

struct RecordHeader {
  std::uint8_t type = 0;
  std::uint8_t schema = 0;
  std::uint64_t sequence = 0;
  std::uint32_t payload_length = 0;
  std::uint32_t header_crc = 0;  // CRC-32C over the first 20 bytes

  std::uint64_t frame_bytes() const { return k_record_frame_bytes + std::uint64_t{payload_length}; }
};

struct DecodedRecord {
  RecordStatus status = RecordStatus::incomplete_header;
  // True once the header's own CRC and values held: `header` is meaningful and the record's end is
  // certain even if its payload is hurt.
  bool header_proven = false;
  RecordHeader header;
  ByteSpan payload;              // of a whole record
  std::uint32_t record_crc = 0;  // of a whole record: over the first 20 bytes and the payload
  Fault fault;                   // of corrupt, unsupported, resource_limit; offset in the record
  std::uint64_t available = 0;   // bytes that were there (incomplete ones)
};

// Steps 1 to 10 of section 7's decoding order on what is there of a record. `record` means that the
// header is good and the payload may be awaited; nothing behind the header was looked at.
DecodedRecord decode_record_header(ByteSpan available,
                                   std::uint32_t payload_budget = k_max_payload_bytes);

// All 14 steps. The record's end is at header.frame_bytes(); what follows is untouched.
DecodedRecord decode_record(ByteSpan available, std::uint32_t payload_budget = k_max_payload_bytes);

// Appends the record's bytes to `out`. A value that section 7 refuses is returned as the fault that
// decoding would report; nothing is appended then.
std::optional<Fault> encode_record(std::uint8_t type, std::uint8_t schema, std::uint64_t sequence,
                                   ByteSpan payload, Bytes& out);

// True if the 24 bytes at `header` are a good header within the budget: the hot path of a walk.
// Anything else is then told apart by decode_record_header.
inline bool is_plain_record_header(const std::byte* header, std::uint32_t payload_budget) {
  return base::u32be(header) == 0x54415900U && base::u8(header[k_record_version_at]) == k_version &&
         base::u32be(header + k_record_header_crc_at) ==
             base::crc32c({header, k_record_header_crc_at}) &&
         base::u8(header[k_record_flags_at]) == 0 &&
         static_cast<std::uint8_t>(base::u8(header[k_record_type_at]) - 1) < k_max_type &&
         base::u8(header[k_record_schema_at]) != 0 &&
         base::u64be(header + k_record_sequence_at) != 0 &&
         base::u32be(header + k_record_length_at) <= payload_budget;
}

inline RecordHeader load_record_header(const std::byte* header) {
  RecordHeader out;
  out.type = base::u8(header[k_record_type_at]);
  out.schema = base::u8(header[k_record_schema_at]);
  out.sequence = base::u64be(header + k_record_sequence_at);
  out.payload_length = base::u32be(header + k_record_length_at);
  out.header_crc = base::u32be(header + k_record_header_crc_at);
  return out;
}

}  // namespace varve::tay
