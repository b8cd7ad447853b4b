// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/footer.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/checksum.hpp"
#include "base/mutant.hpp"

namespace varve::jss {

namespace {

constexpr std::size_t k_read_bytes = 256 * 1024;

// One reading of a footer: the sections are read one by one, each check in its place.
class FooterLoader {
 public:
  FooterLoader(const SegmentFile& file, const SegmentHead& head, const FooterOptions& options,
               std::vector<Finding>& findings)
      : file_(file), h_(head.header), head_(head), options_(options), findings_(findings) {}

  Result<std::shared_ptr<const Footer>> load() {
    VARVE_TRY(check_hash());
    VARVE_TRY(load_index());
    VARVE_TRY(load_segment_bloom());
    VARVE_TRY(load_bloom_region());
    VARVE_TRY(load_collections());
    footer_->trusted = errors_ == 0;
    return std::shared_ptr<const Footer>(std::move(footer_));
  }

 private:
  bool stop() const { return options_.first_only && errors_ != 0; }

  Finding& refuse(const char* code, std::uint64_t offset, std::uint64_t length, const char* unit,
                  std::string message, Number expected = {}, Number actual = {}) {
    ++errors_;
    findings_.push_back(
        make_finding(code, k_stage_open, file_.name(), offset, length, unit, std::move(message)));
    findings_.back().expected = expected;
    findings_.back().actual = actual;
    return findings_.back();
  }

  // Step 18, moved up.
  Result<void> check_hash() {
    if (!options_.check_hash) {
      return {};
    }
    VARVE_ASSIGN(const std::uint64_t computed, metadata_checksum(file_, head_));
    footer_->bytes_checked = k_header_bytes + (file_.size() - h_.footer_offset);
    if (computed != h_.checksum && !base::mutant("jss-footer-hash")) {
      refuse(k_checksum_mismatch, 0, k_header_bytes, "header",
             h_.checksum == 0
                 ? "the checksum field is zero although the header describes a sealed segment"
                 : "the checksum of header and footer does not hold",
             Number::hex64(h_.checksum), Number::hex64(computed));
    }
    return {};
  }

  // Steps 9 to 15.
  Result<void> load_index() {
    if (stop()) {
      return {};
    }
    if (h_.block_count > k_max_blocks && !base::mutant("jss-block-count")) {
      refuse(k_invalid_footer, 0, k_header_bytes, "header", "block_count is above the cap",
             Number::decimal(k_max_blocks), Number::decimal(h_.block_count));
      return {};
    }
    const std::uint64_t bytes = k_index_entry_bytes * h_.block_count;
    if (bytes > file_.size() - h_.footer_offset) {
      refuse(k_read, h_.footer_offset, file_.size() - h_.footer_offset, "block index",
             "the block index would end behind the end of the file", Number::decimal(bytes),
             Number::decimal(file_.size() - h_.footer_offset));
      return {};
    }
    std::vector<IndexEntry> index;
    index.reserve(h_.block_count);
    base::Bytes buffer(
        std::min<std::uint64_t>(bytes, k_read_bytes / k_index_entry_bytes * k_index_entry_bytes));
    for (std::uint64_t done = 0; done < bytes; done += buffer.size()) {
      buffer.resize(std::min<std::uint64_t>(buffer.size(), bytes - done));
      VARVE_TRY(file_.read(buffer, h_.footer_offset + done));
      for (std::size_t at = 0; at < buffer.size(); at += k_index_entry_bytes) {
        index.push_back(load_index_entry(buffer.data() + at));
      }
    }
    if (check_index(index)) {
      footer_->index = std::move(index);
    }
    return {};
  }

  // Steps 11 to 15; true if all entries pass.
  bool check_index(const std::vector<IndexEntry>& index) {
    std::uint64_t end = k_first_frame_offset;
    const IndexEntry* last_with_rows = nullptr;
    for (std::size_t i = 0; i < index.size(); ++i) {
      const IndexEntry& e = index[i];
      const auto bad = [&](std::string message, Number expected, Number actual) {
        refuse(k_invalid_block_index, h_.footer_offset + i * k_index_entry_bytes,
               k_index_entry_bytes, "index entry", std::move(message), expected, actual)
            .index = i;
        return false;
      };
      const auto number = [](std::uint64_t v) { return Number::decimal(v); };
      if (e.offset >= h_.footer_offset) {
        return bad("the block begins at or behind the footer", number(h_.footer_offset),
                   number(e.offset));
      }
      const std::uint64_t block_end = e.offset + k_length_prefix_bytes + e.compressed_size;
      if (e.offset < k_first_frame_offset ||
          block_end > h_.footer_offset + (base::mutant("jss-index-footer") ? 1 : 0)) {
        return bad(
            e.offset < k_first_frame_offset ? "the block begins inside the header"
                                            : "the block ends behind the footer's start",
            number(e.offset < k_first_frame_offset ? k_first_frame_offset : h_.footer_offset),
            number(e.offset < k_first_frame_offset ? e.offset : block_end));
      }
      if (e.offset < end && !base::mutant("jss-index-overlap")) {
        return bad("the block begins before the end of the one before it", number(end),
                   number(e.offset));
      }
      if (e.max_seq < e.min_seq && !base::mutant("jss-index-seq")) {
        return bad("max_seq is below min_seq", number(e.min_seq), number(e.max_seq));
      }
      if (e.max_witnessed_at < e.min_witnessed_at && !base::mutant("jss-index-time")) {
        return bad("max_witnessed_at is below min_witnessed_at",
                   number(static_cast<std::uint64_t>(e.min_witnessed_at)),
                   number(static_cast<std::uint64_t>(e.max_witnessed_at)));
      }
      if (e.event_count > 0) {
        if (last_with_rows != nullptr &&
            e.min_seq + (base::mutant("jss-index-order") ? 1 : 0) <= last_with_rows->max_seq) {
          return bad("min_seq is not above max_seq of the block with rows before it",
                     number(last_with_rows->max_seq + 1), number(e.min_seq));
        }
        last_with_rows = &e;
      }
      end = block_end;
    }
    return true;
  }

  // Step 16.
  Result<void> load_segment_bloom() {
    const std::uint64_t bytes = h_.block_did_bloom_offset - h_.did_bloom_offset;
    if (stop() || bytes == 0) {
      return {};
    }
    if (bytes > options_.max_memory_bytes) {
      refuse("limit", h_.did_bloom_offset, bytes, "segment bloom",
             "the segment's bloom is larger than the memory limit",
             Number::decimal(options_.max_memory_bytes), Number::decimal(bytes))
          .verdict = Verdict::unknown;
      return {};
    }
    footer_->did_bloom_blob.resize(static_cast<std::size_t>(bytes));
    VARVE_TRY(file_.read(footer_->did_bloom_blob, h_.did_bloom_offset));
    const auto bloom = BloomView::parse(footer_->did_bloom_blob);
    if (!bloom) {
      refuse(k_decode, h_.did_bloom_offset, bytes, "segment bloom",
             std::string("the segment's bloom does not decode: ") + bloom.error().word,
             bloom.error().expected, bloom.error().actual);
      return {};
    }
    footer_->did_bloom = *bloom;
    return {};
  }

  // Step 17.
  Result<void> load_bloom_region() {
    if (stop()) {
      return {};
    }
    const std::uint64_t at = h_.block_did_bloom_offset;
    const std::uint64_t bytes = h_.collection_index_offset - at;
    const auto bad = [&](std::string message, std::uint64_t expected, std::uint64_t actual) {
      refuse(k_invalid_footer, at, bytes, "block blooms", std::move(message),
             Number::decimal(expected), Number::decimal(actual));
      return Result<void>();
    };
    if (bytes < k_bloom_region_header_bytes) {
      return bad("the region of the blocks' blooms is too short", k_bloom_region_header_bytes,
                 bytes);
    }
    std::array<std::byte, k_bloom_region_header_bytes> raw;
    VARVE_TRY(file_.read(raw, at));
    const std::uint32_t block_count = base::u32le(raw.data());
    const std::uint32_t bloom_bytes = base::u32le(raw.data() + 4);
    if (block_count != h_.block_count) {
      return bad("the blocks' blooms are for another number of blocks", h_.block_count,
                 block_count);
    }
    const std::uint64_t want =
        k_bloom_region_header_bytes + std::uint64_t{block_count} * bloom_bytes;
    if (want != bytes) {
      return bad("the blocks' blooms do not fill their region", bytes, want);
    }
    footer_->bloom_region_holds = true;
    footer_->bloom_size_bytes = bloom_bytes;
    return {};
  }

  // Step 19.
  Result<void> load_collections() {
    if (stop()) {
      return {};
    }
    const std::uint64_t at = h_.collection_index_offset;
    const std::uint64_t bytes = file_.size() - at;
    if (bytes > options_.max_memory_bytes) {
      refuse("limit", at, bytes, "collection index",
             "the collection index is larger than the memory limit",
             Number::decimal(options_.max_memory_bytes), Number::decimal(bytes))
          .verdict = Verdict::unknown;
      return {};
    }
    base::Bytes section(static_cast<std::size_t>(bytes));
    VARVE_TRY(file_.read(section, at));
    CollectionIndex collections;
    if (const auto fault = collections.parse(section, h_.block_count, options_.max_memory_bytes)) {
      Finding& finding = refuse(
          fault->word, at, bytes, "collection index",
          "the collection index does not hold (" +
              std::string(fault->offset < k_collection_header_bytes ? "its header" : "its body") +
              ")",
          fault->expected, fault->actual);
      if (finding.code == k_collection_over_cap) {
        finding.verdict = Verdict::unknown;
      }
      return {};
    }
    footer_->collections = std::move(collections);
    return {};
  }

  const SegmentFile& file_;
  const Header& h_;
  const SegmentHead& head_;
  const FooterOptions& options_;
  std::vector<Finding>& findings_;
  std::shared_ptr<Footer> footer_ = std::make_shared<Footer>();
  std::size_t errors_ = 0;
};

}  // namespace

Result<std::uint64_t> metadata_checksum(const SegmentFile& file, const SegmentHead& head) {
  base::Xxh3Stream hash;
  hash.update(base::ByteSpan(head.raw).subspan(k_checksum_from));
  base::Bytes buffer(static_cast<std::size_t>(
      std::min<std::uint64_t>(k_read_bytes, file.size() - head.header.footer_offset)));
  for (std::uint64_t at = head.header.footer_offset; at < file.size();) {
    const std::span<std::byte> piece = std::span(buffer).first(
        static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), file.size() - at)));
    VARVE_TRY(file.read(piece, at));
    hash.update(piece);
    at += piece.size();
  }
  return hash.digest();
}

Result<std::shared_ptr<const Footer>> load_footer(const SegmentFile& file, const SegmentHead& head,
                                                  const FooterOptions& options,
                                                  std::vector<Finding>& findings) {
  return FooterLoader(file, head, options, findings).load();
}

}  // namespace varve::jss
