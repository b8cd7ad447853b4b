// SPDX-License-Identifier: MIT OR Apache-2.0
// The field table of the format: the units with fixed places and their parts, declared once.
// `explain` prints from it, and the descriptions in docs/formats come from it.
#pragma once

#include "kladde/layout.hpp"
#include "model/field_table.hpp"

namespace varve::kladde {

using model::FieldSpec;
using model::FieldType;

// Section 3: what a slot begins with.
inline constexpr FieldSpec k_header_fields[] = {
    {"magic", 0, 11, FieldType::magic, "8B \"KLADDE\" 0D 0A 1A 0A"},
    {"log2_page_size", k_log2_page_size_offset, 1, FieldType::u8, "12 is the only size"},
    {"format_version", k_format_version_offset, 2, FieldType::u16, "informational"},
    {"min_reader_version", k_min_reader_version_offset, 2, FieldType::u16, "0 today"},
    {"root_allocation", k_root_allocation_offset, 4, FieldType::u32, "0: none"},
    {"schema_table", k_schema_table_offset, 4, FieldType::u32, "0: none"},
    {"consolidator_state", k_consolidator_state_offset, 4, FieldType::u32, "0: none"},
    {"root_fingerprint", k_root_fingerprint_offset, k_fingerprint_bytes, FieldType::id,
     "of the root's type; zeros: none"},
    {"journal_pointer", k_journal_pointer_offset, 4, FieldType::u32, "a page"},
};

// Section 2.1: what stands before the content of table and data pages, and behind a slot's header.
inline constexpr FieldSpec k_frame_fields[] = {
    {"kind", k_kind_offset, 1, FieldType::u8, "1 address table, 2 data"},
    {"epoch", k_epoch_offset, 8, FieldType::u64, "of the flush that wrote the page"},
    {"content_size", k_content_size_offset, 2, FieldType::u16, "bytes of the content"},
};

// Section 8.4: what stands behind the stream area of a journal page.
inline constexpr FieldSpec k_journal_trailer_fields[] = {
    {"next", 0, 4, FieldType::u32, "the page the stream continues on"},
    {"crc", 4, 4, FieldType::hex32, "the chain value behind next"},
};

}  // namespace varve::kladde
