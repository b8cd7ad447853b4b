// SPDX-License-Identifier: MIT OR Apache-2.0
// The arena journal in numbers: offsets, sizes, limits and names. Each constant cites its section
// of the format description (formats/arena.md).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

namespace varve::arena {

// Section 3: the frame header, four little-endian 32-bit words, then `comp_len` bytes of data.
inline constexpr std::uint64_t k_header_bytes = 16;
inline constexpr std::uint64_t k_crc32_offset = 0;
inline constexpr std::uint64_t k_raw_len_offset = 4;
inline constexpr std::uint64_t k_comp_len_offset = 8;
inline constexpr std::uint64_t k_seq_offset = 12;

inline constexpr std::uint32_t k_max_payload_bytes = 52'428'800;  // section 3, `raw_len`
inline constexpr std::uint64_t k_max_frame_bytes = k_header_bytes + k_max_payload_bytes;
inline constexpr std::uint64_t k_max_lz4_ratio = 255;       // section 3.1
inline constexpr std::uint32_t k_marker_seq = 0x454E444CU;  // section 4: bytes 4C 44 4E 45

// Section 2: geometry.
inline constexpr std::uint64_t k_step_bytes = std::uint64_t{64} << 20;
inline constexpr std::uint64_t k_large_segment_bytes = std::uint64_t{1} << 30;
inline constexpr std::uint32_t k_newest_version = 4;

// How the segments of one manifest version are sized. Tests inject smaller values.
struct Geometry {
  std::uint32_t version = 1;
  std::uint64_t segment_bytes = k_large_segment_bytes;  // S
  std::uint64_t step_bytes = k_large_segment_bytes;     // growth step of the final segment

  // The length that a file of `file_bytes` has, or would have, after extension (section 2). Files
  // longer than S are refused elsewhere; their image ends at S.
  constexpr std::uint64_t logical_bytes(std::uint64_t file_bytes, bool is_final) const {
    if (!is_final || step_bytes >= segment_bytes) {
      return segment_bytes;
    }
    const std::uint64_t steps = (file_bytes + step_bytes - 1) / step_bytes;
    return std::min(std::max<std::uint64_t>(steps, 1) * step_bytes, segment_bytes);
  }
  // The length that a new, empty segment gets (section 6 step 4).
  constexpr std::uint64_t new_segment_bytes() const { return std::min(step_bytes, segment_bytes); }
  constexpr std::uint64_t global_offset(std::uint64_t segment, std::uint64_t offset) const {
    return segment * segment_bytes + offset;
  }
  friend constexpr bool operator==(const Geometry&, const Geometry&) = default;
};

// Section 1.2. nullopt for versions that this text does not describe.
constexpr std::optional<Geometry> geometry_of(std::uint32_t version) {
  switch (version) {
    case 1:
    case 2:
      return Geometry{version, k_large_segment_bytes, k_large_segment_bytes};
    case 3:
      return Geometry{version, k_step_bytes, k_step_bytes};
    case 4:
      return Geometry{version, k_large_segment_bytes, k_step_bytes};
    default:
      return std::nullopt;
  }
}

// Section 1: names.
inline constexpr std::string_view k_arena_directory = "vectors_data.bin";
inline constexpr std::string_view k_manifest_name = "format.json";
inline constexpr std::string_view k_schema_name = "store.json";
inline constexpr std::string_view k_pointer_name = "CURRENT";
inline constexpr std::string_view k_lock_name = ".hms.lock";
inline constexpr std::string_view k_salt_name = "encryption.salt";
inline constexpr std::string_view k_document_checkpoint_name = "documents.ckpt";
inline constexpr std::string_view k_sidecar_suffix = ".crc32";
inline constexpr std::string_view k_generation_prefix = "gen-";
inline constexpr std::string_view k_compaction_prefix = ".compact-";
inline constexpr std::string_view k_manifest_magic = "HMS_ARENA";

// Section 1.1: what schema versions exist and which payload form they write.
inline constexpr std::uint32_t k_oldest_schema = 2;
inline constexpr std::uint32_t k_newest_schema = 5;
inline constexpr std::uint64_t k_max_dimensions = 1'000'000;
inline constexpr std::uint64_t k_salt_bytes = 16;

// The largest manifest, schema or pointer file that is read at all.
inline constexpr std::uint64_t k_max_small_file_bytes = std::uint64_t{1} << 20;

// Section 3.2: the reason words, in the order of the checks.
namespace reason {
inline constexpr const char* k_both_lengths_zero = "both-lengths-zero";
inline constexpr const char* k_raw_len = "raw_len";
inline constexpr const char* k_comp_len = "comp_len";
inline constexpr const char* k_ratio = "ratio";
inline constexpr const char* k_bounds = "bounds";
inline constexpr const char* k_lz4 = "lz4";
inline constexpr const char* k_crc = "crc";
}  // namespace reason

}  // namespace varve::arena
