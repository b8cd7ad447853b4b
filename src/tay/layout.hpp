// SPDX-License-Identifier: MIT OR Apache-2.0
// The map from the Tay specification to constants. Section numbers are those of the specification;
// every multi-byte integer on disk is unsigned and big-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

namespace varve::tay {

inline constexpr std::uint64_t k_u64_max = std::numeric_limits<std::uint64_t>::max();
// The greatest Time: 2^63-1 milliseconds.
inline constexpr std::uint64_t k_time_max = k_u64_max >> 1;

// Section 3: the data directory.
inline constexpr std::string_view k_lock_name = ".tay-owner.lock";
inline constexpr std::string_view k_store_name = "STORE";
inline constexpr std::string_view k_segments_name = "segments";
inline constexpr std::string_view k_segment_suffix = ".tay";
inline constexpr std::size_t k_segment_digits = 20;
inline constexpr std::string_view k_segment_stage_prefix = ".tay-new-";
inline constexpr std::string_view k_store_stage_prefix = ".tay-store-";
inline constexpr std::string_view k_stage_suffix = ".tmp";
inline constexpr std::size_t k_nonce_digits = 32;

inline constexpr std::size_t k_id_bytes = 16;  // STORE_ID, job ids, epoch ids

// Every fixed object begins alike (section 5) and ends with a CRC-32C over what precedes it.
inline constexpr std::size_t k_magic_bytes = 4;
inline constexpr std::size_t k_version_at = 4;
inline constexpr std::size_t k_flags_at = 5;
inline constexpr std::size_t k_reserved_at = 6;
inline constexpr std::uint8_t k_version = 1;

// Section 5: STORE.
inline constexpr std::string_view k_store_magic = "TAYI";
inline constexpr std::size_t k_store_bytes = 28;
inline constexpr std::size_t k_store_id_at = 8;
inline constexpr std::size_t k_store_crc_at = 24;

// Section 6.1: the segment header.
inline constexpr std::string_view k_header_magic = "TAYS";
inline constexpr std::size_t k_header_bytes = 44;
inline constexpr std::size_t k_header_id_at = 8;
inline constexpr std::size_t k_header_first_at = 16;
inline constexpr std::size_t k_header_store_id_at = 24;
inline constexpr std::size_t k_header_crc_at = 40;

// Section 6.2: the segment footer.
inline constexpr std::string_view k_footer_magic = "TAYF";
inline constexpr std::size_t k_footer_bytes = 64;
inline constexpr std::size_t k_footer_id_at = 8;
inline constexpr std::size_t k_footer_first_at = 16;
inline constexpr std::size_t k_footer_last_at = 24;
inline constexpr std::size_t k_footer_count_at = 32;
inline constexpr std::size_t k_footer_store_id_at = 40;
inline constexpr std::size_t k_footer_segment_crc_at = 56;
inline constexpr std::size_t k_footer_crc_at = 60;

// Section 6.3: sizes.
inline constexpr std::uint64_t k_max_sealed_bytes = 1'073'741'824;
inline constexpr std::uint64_t k_max_active_bytes = 1'073'741'760;
inline constexpr std::uint64_t k_max_segment_records = 38'347'918;

// Section 7: records.
inline constexpr std::string_view k_record_magic{"TAY\0", 4};
inline constexpr std::size_t k_record_version_at = 4;
inline constexpr std::size_t k_record_type_at = 5;
inline constexpr std::size_t k_record_flags_at = 6;
inline constexpr std::size_t k_record_schema_at = 7;
inline constexpr std::size_t k_record_sequence_at = 8;
inline constexpr std::size_t k_record_length_at = 16;
inline constexpr std::size_t k_record_header_crc_at = 20;
inline constexpr std::size_t k_record_header_bytes = 24;
inline constexpr std::size_t k_record_trailer_bytes = 4;
inline constexpr std::size_t k_record_frame_bytes = 28;  // a record without its payload
inline constexpr std::uint32_t k_max_payload_bytes = 16'777'216;
inline constexpr std::uint8_t k_max_type = 254;

// Section 10: the rotation target.
inline constexpr std::uint64_t k_default_rotation_bytes = 67'108'864;
inline constexpr std::uint64_t k_min_rotation_bytes = 16'777'352;

// Section 13: value tags.
inline constexpr std::uint8_t k_tag_nil = 0x00;
inline constexpr std::uint8_t k_tag_false = 0x01;
inline constexpr std::uint8_t k_tag_true = 0x02;
inline constexpr std::uint8_t k_tag_negative = 0x03;
inline constexpr std::uint8_t k_tag_unsigned = 0x04;
inline constexpr std::uint8_t k_tag_float = 0x05;
inline constexpr std::uint8_t k_tag_text = 0x06;
inline constexpr std::uint8_t k_tag_opaque = 0x07;
inline constexpr std::uint8_t k_tag_list = 0x08;
inline constexpr std::uint8_t k_tag_map = 0x09;

// Section 14: limits of event fields.
inline constexpr std::uint32_t k_max_attempt = 65'535;
inline constexpr std::uint32_t k_max_timeout_ms = 86'400'000;
inline constexpr std::size_t k_max_key_bytes = 255;
// The one retry policy that version 1 knows (section 14.1).
inline constexpr std::uint64_t k_retry_base_ms = 1000;
inline constexpr std::uint64_t k_retry_cap_ms = 60'000;
inline constexpr std::uint64_t k_retry_jitter_divisor = 4;

// Section 16: what one executing job reserves of the optional history caps.
inline constexpr std::uint64_t k_settlement_reserve_bytes = 1132;

// Section 19: Store v2.
inline constexpr std::string_view k_store_v2_name = "STORE-V2";
inline constexpr std::string_view k_current_name = "CURRENT";
inline constexpr std::string_view k_adoption_name = "ADOPTION";
inline constexpr std::string_view k_epochs_name = "epochs";
inline constexpr std::string_view k_manifest_name = "MANIFEST";
inline constexpr std::string_view k_adoption_stage_prefix = ".tay-adoption-";
inline constexpr std::string_view k_marker_stage_prefix = ".tay-v2-marker-";
inline constexpr std::string_view k_current_stage_prefix = ".tay-current-";
inline constexpr std::string_view k_store_v2_magic = "TAY2";
inline constexpr std::string_view k_current_magic = "TAYC";
inline constexpr std::string_view k_adoption_magic = "TAYA";
inline constexpr std::string_view k_manifest_magic = "TAYM";
inline constexpr std::size_t k_current_bytes = 76;
inline constexpr std::size_t k_adoption_bytes = 28;
inline constexpr std::uint64_t k_max_manifest_bytes = 16'777'216;
inline constexpr std::uint8_t k_type_snapshot = 7;
inline constexpr std::uint8_t k_type_mutation = 8;

}  // namespace varve::tay
