// SPDX-License-Identifier: MIT OR Apache-2.0
// The field table of the format: every unit of a segment and its parts, declared once (section 3).
#pragma once

#include "arena/layout.hpp"
#include "model/field_table.hpp"

namespace varve::arena {

using model::FieldSpec;
using model::FieldType;

inline constexpr FieldSpec k_frame_fields[] = {
    {"crc32", k_crc32_offset, 4, FieldType::hex32, "CRC-32 of the payload after decompression"},
    {"raw_len", k_raw_len_offset, 4, FieldType::u32, "bytes of the payload after decompression"},
    {"comp_len", k_comp_len_offset, 4, FieldType::u32, "bytes stored; less than raw_len: LZ4"},
    {"seq", k_seq_offset, 4, FieldType::u32, "advisory counter, covered by nothing"},
    {"data", k_header_bytes, 0, FieldType::opaque, "the LZ4 block, or the payload itself"},
};

inline constexpr FieldSpec k_marker_fields[] = {
    {"crc32", k_crc32_offset, 4, FieldType::hex32, "0"},
    {"raw_len", k_raw_len_offset, 4, FieldType::u32, "0"},
    {"comp_len", k_comp_len_offset, 4, FieldType::u32, "0"},
    {"seq", k_seq_offset, 4, FieldType::hex32, "the bytes LDNE"},
};

}  // namespace varve::arena
