// SPDX-License-Identifier: MIT OR Apache-2.0
// The map from the sections of the jss specification to constants: offsets, sizes, caps, kinds.
// All integers of the format are little-endian; offsets are absolute, in bytes.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/bytes.hpp"

namespace varve::jss {

// Section 1 and 2: the header, 256 bytes at offset 0.
inline constexpr std::uint64_t k_header_bytes = 256;
inline constexpr std::string_view k_magic = "jss0";
inline constexpr std::uint16_t k_version = 1;

inline constexpr std::uint64_t k_magic_offset = 0;
inline constexpr std::uint64_t k_checksum_offset = 4;  // u64; 0 means active
inline constexpr std::uint64_t k_version_offset = 12;  // u16; the checksum covers from here on
inline constexpr std::uint64_t k_block_count_offset = 14;
inline constexpr std::uint64_t k_event_count_offset = 18;
inline constexpr std::uint64_t k_unique_did_count_offset = 22;
inline constexpr std::uint64_t k_min_seq_offset = 26;
inline constexpr std::uint64_t k_max_seq_offset = 34;
inline constexpr std::uint64_t k_min_witnessed_at_offset = 42;
inline constexpr std::uint64_t k_max_witnessed_at_offset = 50;
inline constexpr std::uint64_t k_footer_offset_offset = 58;
inline constexpr std::uint64_t k_did_bloom_offset_offset = 66;
inline constexpr std::uint64_t k_block_did_bloom_offset_offset = 74;
inline constexpr std::uint64_t k_collection_index_offset_offset = 82;
inline constexpr std::uint64_t k_block_index_offset_offset = 90;
inline constexpr std::uint64_t k_reserved_offset = 98;
inline constexpr std::uint64_t k_checksum_from = k_version_offset;

// Section 3: block frames.
inline constexpr std::uint64_t k_first_frame_offset = k_header_bytes;
inline constexpr std::uint64_t k_length_prefix_bytes = 8;
inline constexpr std::uint32_t k_zstd_magic = 0xFD2FB528;  // the bytes 28 b5 2f fd
inline constexpr std::uint64_t k_max_body_bytes = std::uint64_t{1} << 30;
// The reference never writes a window above 8 MiB; libzstd's streaming limit is 128 MiB.
inline constexpr int k_max_window_log = 27;
// The frame of an empty body: content size 0, no content checksum.
inline constexpr std::array<std::uint8_t, 9> k_empty_body_frame = {0x28, 0xb5, 0x2f, 0xfd, 0x20,
                                                                   0x00, 0x01, 0x00, 0x00};

// Section 4: the columnar body. With n rows, the fixed part is 4 + 34 n bytes; column c of width w
// begins at 4 + k_..._column * n.
inline constexpr std::uint64_t k_body_count_bytes = 4;
inline constexpr std::uint64_t k_seq_column = 0;
inline constexpr std::uint64_t k_witnessed_at_column = 8;
inline constexpr std::uint64_t k_indexed_at_column = 16;
inline constexpr std::uint64_t k_kind_column = 24;
inline constexpr std::uint64_t k_collection_len_column = 25;
inline constexpr std::uint64_t k_did_len_column = 26;
inline constexpr std::uint64_t k_rkey_len_column = 28;
inline constexpr std::uint64_t k_rev_len_column = 29;
inline constexpr std::uint64_t k_payload_len_column = 30;
inline constexpr std::uint64_t k_row_fixed_bytes = 34;
inline constexpr std::uint32_t k_max_block_rows = std::uint32_t{1} << 18;
inline constexpr std::uint64_t k_max_collection_bytes = 255;
inline constexpr std::uint64_t k_max_did_bytes = 65535;
inline constexpr std::uint64_t k_max_rkey_bytes = 255;
inline constexpr std::uint64_t k_max_rev_bytes = 255;

// Section 5.2: kinds and sentinels.
enum class Kind : std::uint8_t {
  create = 1,
  update = 2,
  remove = 3,  // "delete" in the format's words
  identity = 4,
  account = 5,
  sync = 6,
  create_resync = 7,
};
inline constexpr std::uint8_t k_min_kind = 1;
inline constexpr std::uint8_t k_max_kind = 7;
inline constexpr std::string_view k_identity_sentinel = "$identity";
inline constexpr std::string_view k_account_sentinel = "$account";
inline constexpr std::string_view k_sync_sentinel = "$sync";

// The names of the kinds, by value; index 0 is no kind.
inline constexpr std::array<std::string_view, 8> k_kind_names = {
    "", "create", "update", "delete", "identity", "account", "sync", "create_resync"};

constexpr bool is_kind(std::uint8_t value) { return value >= k_min_kind && value <= k_max_kind; }
// Kinds 1, 2, 3 and 7: rows of a record path, the public kind "commit".
constexpr bool is_commit(std::uint8_t kind) { return is_kind(kind) && (kind <= 3 || kind == 7); }
// Kinds 1, 2 and 7 carry the current value of a path ("materialization" kinds).
constexpr bool is_materialization(std::uint8_t kind) { return kind == 1 || kind == 2 || kind == 7; }
// The sentinel of a marker kind; empty for commits.
constexpr std::string_view sentinel_of(std::uint8_t kind) {
  switch (kind) {
    case 4:
      return k_identity_sentinel;
    case 5:
      return k_account_sentinel;
    case 6:
      return k_sync_sentinel;
    default:
      return {};
  }
}
constexpr bool is_sentinel(std::string_view name) {
  return name == k_identity_sentinel || name == k_account_sentinel || name == k_sync_sentinel;
}

// Section 6: a block index entry.
inline constexpr std::uint64_t k_index_entry_bytes = 52;
inline constexpr std::uint32_t k_max_blocks = std::uint32_t{1} << 20;

// Section 7: the region of the blooms a block: u32 block_count, u32 bloom_size_bytes, blobs.
inline constexpr std::uint64_t k_bloom_region_header_bytes = 8;

// Section 8: collection_count, block_count, bitmask_len, uncompressed_size, then one frame.
inline constexpr std::uint64_t k_collection_header_bytes = 16;
inline constexpr std::uint32_t k_max_collections = std::uint32_t{1} << 20;
inline constexpr std::uint64_t k_collection_entry_fixed_bytes = 5;  // u8 len, u32 count

// Section 9.1: a bloom blob.
inline constexpr std::uint64_t k_bloom_header_bytes = 21;
inline constexpr std::uint64_t k_bloom_crc_bytes = 4;
inline constexpr std::uint64_t k_bloom_block_bytes = 64;
inline constexpr std::uint64_t k_bloom_fixed_bytes = k_bloom_header_bytes + k_bloom_crc_bytes;
inline constexpr std::uint64_t k_max_bloom_blocks = std::uint64_t{1} << 50;
inline constexpr std::uint8_t k_bloom_version = 1;

// Section 16: file names.
inline constexpr std::string_view k_name_prefix = "seg_";
inline constexpr std::string_view k_name_suffix = ".jss";
inline constexpr std::size_t k_name_digits = 10;
inline constexpr std::uint64_t k_max_segment_number = 3'656'158'440'062'975;  // 36^10 - 1

// Section 13.2: what the reference's writer uses.
inline constexpr std::uint32_t k_default_block_rows = 4096;
inline constexpr std::uint64_t k_rotation_bytes = std::uint64_t{256} << 20;  // of block frames

// Section 2. `checksum` is 0 for an active file, whose other fields mean nothing.
struct Header {
  std::uint64_t checksum = 0;
  std::uint16_t version = 0;
  std::uint32_t block_count = 0;
  std::uint32_t event_count = 0;
  std::uint32_t unique_did_count = 0;
  std::uint64_t min_seq = 0;
  std::uint64_t max_seq = 0;
  std::int64_t min_witnessed_at = 0;
  std::int64_t max_witnessed_at = 0;
  std::uint64_t footer_offset = 0;
  std::uint64_t did_bloom_offset = 0;
  std::uint64_t block_did_bloom_offset = 0;
  std::uint64_t collection_index_offset = 0;
  std::uint64_t block_index_offset = 0;
};

// Reads the fields behind the magic from the 256 header bytes. Checks nothing.
inline Header load_header(const std::byte* p) {
  Header h;
  h.checksum = base::u64le(p + k_checksum_offset);
  h.version = base::u16le(p + k_version_offset);
  h.block_count = base::u32le(p + k_block_count_offset);
  h.event_count = base::u32le(p + k_event_count_offset);
  h.unique_did_count = base::u32le(p + k_unique_did_count_offset);
  h.min_seq = base::u64le(p + k_min_seq_offset);
  h.max_seq = base::u64le(p + k_max_seq_offset);
  h.min_witnessed_at = base::i64le(p + k_min_witnessed_at_offset);
  h.max_witnessed_at = base::i64le(p + k_max_witnessed_at_offset);
  h.footer_offset = base::u64le(p + k_footer_offset_offset);
  h.did_bloom_offset = base::u64le(p + k_did_bloom_offset_offset);
  h.block_did_bloom_offset = base::u64le(p + k_block_did_bloom_offset_offset);
  h.collection_index_offset = base::u64le(p + k_collection_index_offset_offset);
  h.block_index_offset = base::u64le(p + k_block_index_offset_offset);
  return h;
}

// Section 6.
struct IndexEntry {
  std::uint64_t offset = 0;           // of the frame's length prefix
  std::uint32_t compressed_size = 0;  // of the frame, without the prefix
  std::uint32_t uncompressed_size = 0;
  std::uint32_t event_count = 0;
  std::uint64_t min_seq = 0;
  std::uint64_t max_seq = 0;
  std::int64_t min_witnessed_at = 0;
  std::int64_t max_witnessed_at = 0;

  friend bool operator==(const IndexEntry&, const IndexEntry&) = default;
};

// Reads one entry of 52 bytes. Checks nothing.
inline IndexEntry load_index_entry(const std::byte* p) {
  IndexEntry e;
  e.offset = base::u64le(p);
  e.compressed_size = base::u32le(p + 8);
  e.uncompressed_size = base::u32le(p + 12);
  e.event_count = base::u32le(p + 16);
  e.min_seq = base::u64le(p + 20);
  e.max_seq = base::u64le(p + 28);
  e.min_witnessed_at = base::i64le(p + 36);
  e.max_witnessed_at = base::i64le(p + 44);
  return e;
}

// The error classes of section 10, which are the codes of findings, and Varve's own.
inline constexpr const char* k_corrupt_segment = "CorruptSegment";
inline constexpr const char* k_invalid_footer = "InvalidFooter";
inline constexpr const char* k_invalid_block_index = "InvalidBlockIndex";
inline constexpr const char* k_checksum_mismatch = "ChecksumMismatch";
inline constexpr const char* k_decode = "Decode";
inline constexpr const char* k_verify_mismatch = "VerifyMismatch";
inline constexpr const char* k_read = "Read";

}  // namespace varve::jss
