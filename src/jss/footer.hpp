// SPDX-License-Identifier: MIT OR Apache-2.0
// The four sections behind the frames of a sealed segment (sections 6 to 8) and the checks of
// opening it (section 10), with the metadata checksum right behind step 8.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/compression.hpp"
#include "jss/bloom.hpp"
#include "jss/layout.hpp"
#include "jss/segment_file.hpp"
#include "varve/finding.hpp"

namespace varve::jss {

// Section 8: which collections and sentinels occur in which block.
class CollectionIndex {
 public:
  struct Entry {
    std::string_view name;  // into body()
    std::uint32_t count = 0;
  };

  const std::vector<Entry>& entries() const { return entries_; }
  std::uint32_t block_count() const { return block_count_; }
  std::uint32_t bitmask_bytes() const { return bitmask_bytes_; }
  std::uint32_t uncompressed_size() const { return uncompressed_size_; }
  // The bits of one block; empty if there are no names.
  base::ByteSpan mask(std::uint32_t block) const {
    return {masks_ + std::size_t{block} * bitmask_bytes_, bitmask_bytes_};
  }
  bool has(std::uint32_t block, std::uint32_t id) const {
    return ((base::u8(mask(block)[id / 8]) >> (id % 8)) & 1) != 0;
  }
  base::ByteSpan body() const { return body_.span(); }

  // What a section of bytes is, by the reader rules of section 8 in order. `block_count`: the
  // header's. On a fault its word is k_invalid_footer or k_decode, its offset from the section's
  // start. `cap_bytes`: a body above it is refused with k_collection_over_cap.
  std::optional<Fault> parse(base::ByteSpan section, std::uint32_t block_count,
                             std::uint64_t cap_bytes);

 private:
  std::optional<Fault> parse_body(std::uint32_t collection_count);
  base::Buffer body_;
  std::vector<Entry> entries_;
  const std::byte* masks_ = nullptr;
  std::uint32_t block_count_ = 0;
  std::uint32_t bitmask_bytes_ = 0;
  std::uint32_t uncompressed_size_ = 0;
};
inline constexpr const char* k_collection_over_cap = "limit";

// The sections that could be read. Each is there only if its own checks held.
struct Footer {
  std::optional<std::vector<IndexEntry>> index;
  // Section 7, part 2. An empty section means "cannot rule anything out".
  std::optional<BloomView> did_bloom;  // views did_bloom_blob
  base::Bytes did_bloom_blob;
  // Section 7, part 3.
  bool bloom_region_holds = false;
  std::uint32_t bloom_size_bytes = 0;
  std::optional<CollectionIndex> collections;
  // No check failed: what the sections say may decide what is read.
  bool trusted = false;
  std::uint64_t bytes_checked = 0;  // of header and footer
};

struct FooterOptions {
  bool check_hash = true;   // false where this generation's was compared before
  bool first_only = false;  // stop at the first failing check
  std::uint64_t max_memory_bytes = std::uint64_t{1} << 30;
};

// Reads and checks the footer of a segment whose head is sealed. Failing checks go to `findings` in
// the order of section 10; those behind the first one are applied where they still mean something.
Result<std::shared_ptr<const Footer>> load_footer(const SegmentFile& file, const SegmentHead& head,
                                                  const FooterOptions& options,
                                                  std::vector<Finding>& findings);

// XXH3-64 of header[12, 256) and [footer_offset, end), as one stream (section 2).
Result<std::uint64_t> metadata_checksum(const SegmentFile& file, const SegmentHead& head);

// Where the bloom of a block is.
inline std::uint64_t block_bloom_offset(const Header& header, const Footer& footer,
                                        std::uint32_t block) {
  return header.block_did_bloom_offset + k_bloom_region_header_bytes +
         std::uint64_t{block} * footer.bloom_size_bytes;
}

}  // namespace varve::jss
