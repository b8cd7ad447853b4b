// SPDX-License-Identifier: MIT OR Apache-2.0
// The field table of the format: every unit and its parts, declared once. `explain` prints from it,
// and so do the tables of the documentation.
#pragma once

#include "jss/layout.hpp"
#include "model/field_table.hpp"

namespace varve::jss {

using model::FieldSpec;
using model::FieldType;

// Section 2.
inline constexpr FieldSpec k_header_fields[] = {
    {"magic", 0, 4, FieldType::magic, "\"jss0\""},
    {"checksum", 4, 8, FieldType::hex64, "xxh3-64 of header[12..256) and the footer; 0: active"},
    {"version", 12, 2, FieldType::u16, "1"},
    {"block_count", 14, 4, FieldType::u32, "blocks, empty ones included"},
    {"event_count", 18, 4, FieldType::u32, "rows, summed over the blocks"},
    {"unique_did_count", 22, 4, FieldType::u32, "distinct DIDs that are not empty"},
    {"min_seq", 26, 8, FieldType::u64, "lowest seq, or lower after a compaction"},
    {"max_seq", 34, 8, FieldType::u64, "highest seq, or higher after a compaction"},
    {"min_witnessed_at", 42, 8, FieldType::time, "earliest witnessed_at, likewise"},
    {"max_witnessed_at", 50, 8, FieldType::time, "latest witnessed_at, likewise"},
    {"footer_offset", 58, 8, FieldType::u64, "where the footer begins"},
    {"did_bloom_offset", 66, 8, FieldType::u64, "where the segment's bloom begins"},
    {"block_did_bloom_offset", 74, 8, FieldType::u64, "where the blocks' blooms begin"},
    {"collection_index_offset", 82, 8, FieldType::u64, "where the collection index begins"},
    {"block_index_offset", 90, 8, FieldType::u64, "equal to footer_offset"},
    {"reserved", 98, 158, FieldType::zeros, "written as zero, covered by the checksum"},
};

// Section 6.
inline constexpr FieldSpec k_index_entry_fields[] = {
    {"offset", 0, 8, FieldType::u64, "of the frame's length prefix"},
    {"compressed_size", 8, 4, FieldType::u32, "bytes of the frame"},
    {"uncompressed_size", 12, 4, FieldType::u32, "bytes of the body"},
    {"event_count", 16, 4, FieldType::u32, "rows of the block"},
    {"min_seq", 20, 8, FieldType::u64, "lowest seq, or lower after a compaction"},
    {"max_seq", 28, 8, FieldType::u64, "highest seq, or higher after a compaction"},
    {"min_witnessed_at", 36, 8, FieldType::time, "earliest witnessed_at, likewise"},
    {"max_witnessed_at", 44, 8, FieldType::time, "latest witnessed_at, likewise"},
};

// Section 9.1: the parts before the bits.
inline constexpr FieldSpec k_bloom_fields[] = {
    {"version", 0, 1, FieldType::u8, "1"},
    {"k", 1, 4, FieldType::u32, "bits a key, 3 to 17"},
    {"num_blocks", 5, 8, FieldType::u64, "bit blocks of 64 bytes"},
    {"count", 13, 8, FieldType::u64, "insertions"},
};

// Section 7.
inline constexpr FieldSpec k_bloom_region_fields[] = {
    {"block_count", 0, 4, FieldType::u32, "the header's"},
    {"bloom_size_bytes", 4, 4, FieldType::u32, "bytes of each bloom"},
};

// Section 8.
inline constexpr FieldSpec k_collection_index_fields[] = {
    {"collection_count", 0, 4, FieldType::u32, "names in the table"},
    {"block_count", 4, 4, FieldType::u32, "the header's"},
    {"bitmask_len", 8, 4, FieldType::u32, "bytes of each block's mask"},
    {"uncompressed_size", 12, 4, FieldType::u32, "bytes of the body"},
};

// Section 3.
inline constexpr FieldSpec k_length_prefix_fields[] = {
    {"block_len", 0, 8, FieldType::u64, "bytes of the frame"},
};

}  // namespace varve::jss
