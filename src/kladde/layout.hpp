// SPDX-License-Identifier: MIT OR Apache-2.0
// The map from the sections of the kladde specification to constants: offsets, sizes, bounds and
// the reason words of what a reader refuses. Integers are little-endian.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace varve::kladde {

using PageNumber = std::uint32_t;

// Section 1 and 2: pages.
inline constexpr std::uint8_t k_log2_page_bytes = 12;
inline constexpr std::size_t k_page_bytes = 4096;
inline constexpr std::uint8_t k_max_reserved_log2 = 16;  // 13 to 16 are reserved and refused
inline constexpr PageNumber k_slot_count = 2;            // pages 0 and 1
inline constexpr PageNumber k_first_free_page = 2;
// 32-bit page numbers; page 2^32-1 is left out so that "one past the end" is a page number too.
inline constexpr std::uint64_t k_max_pages = 0xFFFFFFFFU;

// Section 2.1: framing of table and data pages.
inline constexpr std::size_t k_kind_offset = 0;
inline constexpr std::size_t k_epoch_offset = 1;
inline constexpr std::size_t k_content_size_offset = 9;
inline constexpr std::size_t k_content_offset = 11;
inline constexpr std::size_t k_page_crc_bytes = 4;
inline constexpr std::size_t k_frame_bytes = k_content_offset + k_page_crc_bytes;
inline constexpr std::size_t k_max_page_content = k_page_bytes - k_frame_bytes;  // 4081
inline constexpr std::uint8_t k_kind_table = 0x01;
inline constexpr std::uint8_t k_kind_data = 0x02;

// Section 2.2: slots carry a header block in front of the same fields.
inline constexpr std::size_t k_header_bytes = 48;
inline constexpr std::size_t k_max_header_content = k_max_page_content - k_header_bytes;  // 4033

// Section 3: the header block.
inline constexpr std::array<std::uint8_t, 11> k_magic = {0x8B, 0x4B, 0x4C, 0x41, 0x44, 0x44,
                                                         0x45, 0x0D, 0x0A, 0x1A, 0x0A};
inline constexpr std::size_t k_log2_page_size_offset = 11;
inline constexpr std::size_t k_format_version_offset = 12;
inline constexpr std::size_t k_min_reader_version_offset = 14;
inline constexpr std::size_t k_root_allocation_offset = 16;
inline constexpr std::size_t k_schema_table_offset = 20;
inline constexpr std::size_t k_consolidator_state_offset = 24;
inline constexpr std::size_t k_root_fingerprint_offset = 28;
inline constexpr std::size_t k_fingerprint_bytes = 16;
inline constexpr std::size_t k_journal_pointer_offset = 44;
inline constexpr std::uint16_t k_format_version = 0;
inline constexpr std::uint16_t k_reader_version = 0;

// Section 6.1 and Appendix A: statement tags.
inline constexpr std::uint8_t k_tag_ref = 0;
inline constexpr std::uint8_t k_a_tag_zero = 1;
inline constexpr std::uint8_t k_a_tag_shrink = 2;
inline constexpr std::uint8_t k_a_tag_grow = 3;
inline constexpr std::uint8_t k_tag_tombstone = 4;
inline constexpr std::uint8_t k_a_tag_inline = 4;  // tag = 4 + size
inline constexpr std::uint8_t k_b_tag_zero = 2;    // bit 0 of a content tag: sizing
inline constexpr std::uint8_t k_b_tag_size = 5;
inline constexpr std::uint8_t k_b_tag_inline = 4;  // tag = 4 + 2 * size + sizing
inline constexpr std::uint32_t k_a_max_inline_bytes = 251;
inline constexpr std::uint32_t k_b_max_inline_bytes = 125;

// Section 8: the journal.
inline constexpr std::size_t k_stream_bytes = k_page_bytes - 8;  // 4088
inline constexpr std::size_t k_next_offset = 4088;
inline constexpr std::size_t k_trailer_crc_offset = 4092;
inline constexpr std::size_t k_transaction_crc_bytes = 4;
inline constexpr std::size_t k_max_length_prefix_bytes = 5;
inline constexpr std::uint8_t k_record_free = 1;
inline constexpr std::uint8_t k_record_resize = 2;
inline constexpr std::uint8_t k_record_write = 3;
inline constexpr std::uint8_t k_record_splice = 4;
inline constexpr std::uint8_t k_record_copy = 5;
inline constexpr std::uint8_t k_record_move = 6;

// Section 13: bounds.
inline constexpr std::uint64_t k_max_u32 = 0xFFFFFFFFU;  // ids, sizes, offset+length, records

// Section 15: the reason words (CONTRACT section 4), and Varve's own below them.
namespace word {
inline constexpr const char* not_kladde = "not-a-kladde-file";
inline constexpr const char* version = "unsupported-version";
inline constexpr const char* page_size = "unsupported-page-size";
inline constexpr const char* no_header = "no-valid-header";
inline constexpr const char* table_page = "malformed-table-page";
inline constexpr const char* not_a_tree = "not-a-tree";
inline constexpr const char* child_range = "child-out-of-range";
inline constexpr const char* page_check = "page-check";
inline constexpr const char* page_newer = "page-newer-than-header";
inline constexpr const char* page_kind = "wrong-page-kind";
inline constexpr const char* reference = "reference-outside-file";
inline constexpr const char* transaction = "malformed-transaction";
inline constexpr const char* uncovered = "byte-without-statement";

inline constexpr const char* two_sizes = "conflicting-sizes";           // Appendix A, B only
inline constexpr const char* no_size = "content-without-size";          // a writer's duty, B only
inline constexpr const char* journal_in_use = "journal-page-in-use";    // section 3.1
inline constexpr const char* journal_next = "journal-next-impossible";  // section 8.6
inline constexpr const char* torn_tail = "torn-tail";
inline constexpr const char* unproven_tail = "unproven-tail";
inline constexpr const char* partial_page = "partial-last-page";
inline constexpr const char* other_slot = "other-slot-invalid";
inline constexpr const char* unreached = "unreached-bad-pages";
inline constexpr const char* loose_reference = "reference-outside-content";
inline constexpr const char* type_table = "malformed-type-table";
inline constexpr const char* fingerprint = "root-fingerprint-differs";
inline constexpr const char* value = "value-not-of-its-type";
inline constexpr const char* leak = "unreachable-allocation";
inline constexpr const char* dangling = "dangling-pointer";
inline constexpr const char* limit = "limit";
}  // namespace word

}  // namespace varve::kladde
