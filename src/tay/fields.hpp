// SPDX-License-Identifier: MIT OR Apache-2.0
// The field table of the format: every unit and its parts, declared once. `explain` prints from it,
// and so do the tables of the documentation.
#pragma once

#include "model/field_table.hpp"
#include "tay/layout.hpp"

namespace varve::tay {

using model::FieldSpec;
using model::FieldType;

// Section 5.
inline constexpr FieldSpec k_store_fields[] = {
    {"magic", 0, 4, FieldType::magic, "\"TAYI\""},
    {"version", 4, 1, FieldType::u8, "1"},
    {"flags", 5, 1, FieldType::u8, "0"},
    {"reserved", 6, 2, FieldType::u16, "0"},
    {"STORE_ID", 8, 16, FieldType::id, "random, not all zero"},
    {"crc", 24, 4, FieldType::hex32, "CRC-32C over [0,24)"},
};

// Section 6.1.
inline constexpr FieldSpec k_header_fields[] = {
    {"magic", 0, 4, FieldType::magic, "\"TAYS\""},
    {"version", 4, 1, FieldType::u8, "1"},
    {"flags", 5, 1, FieldType::u8, "0"},
    {"reserved", 6, 2, FieldType::u16, "0"},
    {"segment_id", 8, 8, FieldType::u64, "equals the file name"},
    {"first_sequence", 16, 8, FieldType::u64, "of the first record, present or future"},
    {"STORE_ID", 24, 16, FieldType::id, "equals STORE"},
    {"crc", 40, 4, FieldType::hex32, "CRC-32C over [0,40)"},
};

// Section 6.2.
inline constexpr FieldSpec k_footer_fields[] = {
    {"magic", 0, 4, FieldType::magic, "\"TAYF\""},
    {"version", 4, 1, FieldType::u8, "1"},
    {"flags", 5, 1, FieldType::u8, "0"},
    {"reserved", 6, 2, FieldType::u16, "0"},
    {"segment_id", 8, 8, FieldType::u64, "as in the header"},
    {"first_sequence", 16, 8, FieldType::u64, "as in the header"},
    {"last_sequence", 24, 8, FieldType::u64, "first + count - 1"},
    {"record_count", 32, 8, FieldType::u64, "1 to 38347918"},
    {"STORE_ID", 40, 16, FieldType::id, "as in the header"},
    {"segment_crc", 56, 4, FieldType::hex32, "CRC-32C over the header and all records"},
    {"crc", 60, 4, FieldType::hex32, "CRC-32C over the footer's [0,60)"},
};

// Section 7, up to the payload.
inline constexpr FieldSpec k_record_fields[] = {
    {"magic", 0, 4, FieldType::magic, "\"TAY\" and a zero byte"},
    {"version", 4, 1, FieldType::u8, "1"},
    {"type", 5, 1, FieldType::u8, "of the event"},
    {"flags", 6, 1, FieldType::u8, "0"},
    {"schema", 7, 1, FieldType::u8, "of the payload"},
    {"sequence", 8, 8, FieldType::u64, "one above the record before"},
    {"payload_length", 16, 4, FieldType::u32, "bytes of the payload"},
    {"header_crc", 20, 4, FieldType::hex32, "CRC-32C over [0,20)"},
};
inline constexpr FieldSpec k_record_trailer_fields[] = {
    {"record_crc", 0, 4, FieldType::hex32, "CRC-32C over the first 20 bytes and the payload"},
};

// Section 19.
inline constexpr FieldSpec k_current_fields[] = {
    {"magic", 0, 4, FieldType::magic, "\"TAYC\""},
    {"version", 4, 1, FieldType::u8, "1"},
    {"reserved", 5, 3, FieldType::opaque, "zero"},
    {"STORE_ID", 8, 16, FieldType::id, "equals STORE"},
    {"epoch_id", 24, 16, FieldType::id, "names the epoch's directory"},
    {"manifest_sha256", 40, 32, FieldType::id, "of the whole MANIFEST"},
    {"crc", 72, 4, FieldType::hex32, "CRC-32C over [0,72)"},
};
inline constexpr FieldSpec k_marker_fields[] = {
    {"magic", 0, 4, FieldType::magic, "\"TAY2\" or \"TAYA\""},
    {"version", 4, 1, FieldType::u8, "1"},
    {"reserved", 5, 3, FieldType::opaque, "zero"},
    {"id", 8, 16, FieldType::id, "STORE_ID; in ADOPTION the nonce of the old directory"},
    {"crc", 24, 4, FieldType::hex32, "CRC-32C over [0,24)"},
};
inline constexpr FieldSpec k_manifest_fields[] = {
    {"magic", 0, 4, FieldType::magic, "\"TAYM\""},
    {"version", 4, 1, FieldType::u8, "1"},
    {"reserved", 5, 3, FieldType::opaque, "zero"},
    {"length", 8, 4, FieldType::u32, "bytes of the map that follows"},
};

}  // namespace varve::tay
