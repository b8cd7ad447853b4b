// SPDX-License-Identifier: MIT OR Apache-2.0
// The field table of the format: every unit of a segment and its parts, declared once (section 3).
#pragma once

#include <cstdint>

#include "arena/layout.hpp"

namespace varve::arena {

enum class FieldType : std::uint8_t { hex32, u32, bytes };

struct FieldSpec {
  const char* name;
  std::uint64_t offset;  // from the unit's start
  std::uint64_t length;  // bytes; 0: comp_len
  FieldType type;
  const char* meaning;
};

inline constexpr FieldSpec k_frame_fields[] = {
    {"crc32", k_crc32_offset, 4, FieldType::hex32, "CRC-32 of the payload after decompression"},
    {"raw_len", k_raw_len_offset, 4, FieldType::u32, "bytes of the payload after decompression"},
    {"comp_len", k_comp_len_offset, 4, FieldType::u32, "bytes stored; less than raw_len: LZ4"},
    {"seq", k_seq_offset, 4, FieldType::u32, "advisory counter, covered by nothing"},
    {"data", k_header_bytes, 0, FieldType::bytes, "the LZ4 block, or the payload itself"},
};

inline constexpr FieldSpec k_marker_fields[] = {
    {"crc32", k_crc32_offset, 4, FieldType::hex32, "0"},
    {"raw_len", k_raw_len_offset, 4, FieldType::u32, "0"},
    {"comp_len", k_comp_len_offset, 4, FieldType::u32, "0"},
    {"seq", k_seq_offset, 4, FieldType::hex32, "the bytes LDNE"},
};

}  // namespace varve::arena
