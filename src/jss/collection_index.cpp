// SPDX-License-Identifier: MIT OR Apache-2.0
#include <algorithm>

#include "base/cursor.hpp"
#include "jss/block.hpp"
#include "jss/footer.hpp"

namespace varve::jss {

namespace {

Fault refuse(const char* word, std::uint64_t offset, std::uint64_t expected, std::uint64_t actual) {
  return Fault{word, offset, Number::decimal(expected), Number::decimal(actual)};
}

}  // namespace

std::optional<Fault> CollectionIndex::parse(base::ByteSpan section, std::uint32_t block_count,
                                            std::uint64_t cap_bytes) {
  if (section.size() < k_collection_header_bytes) {
    return refuse(k_invalid_footer, 0, k_collection_header_bytes, section.size());
  }
  const std::uint32_t collection_count = base::u32le(section.data());
  block_count_ = base::u32le(section.data() + 4);
  bitmask_bytes_ = base::u32le(section.data() + 8);
  uncompressed_size_ = base::u32le(section.data() + 12);
  if (collection_count > k_max_collections) {
    return refuse(k_invalid_footer, 0, k_max_collections, collection_count);
  }
  if (block_count_ > k_max_blocks) {
    return refuse(k_invalid_footer, 4, k_max_blocks, block_count_);
  }
  if (uncompressed_size_ > k_max_body_bytes) {
    return refuse(k_invalid_footer, 12, k_max_body_bytes, uncompressed_size_);
  }
  if (bitmask_bytes_ != (collection_count + 7) / 8) {
    return refuse(k_invalid_footer, 8, (collection_count + 7) / 8, bitmask_bytes_);
  }
  if (uncompressed_size_ > cap_bytes) {
    return refuse(k_collection_over_cap, 12, cap_bytes, uncompressed_size_);
  }
  // Without names and blocks' masks there may be no frame at all.
  const base::ByteSpan frame = section.subspan(k_collection_header_bytes);
  if (!frame.empty()) {
    FrameDecoder decoder;
    const auto fault = decoder.decompress(frame, uncompressed_size_, body_);
    if (fault && std::string_view(fault->word) == k_frame_over_cap) {
      return Fault{k_invalid_footer, 12, {}, Number::decimal(uncompressed_size_)};
    }
    if (fault) {
      return Fault{k_decode, k_collection_header_bytes, {}, {}};
    }
  }
  if (body_.size() != uncompressed_size_) {
    return refuse(k_invalid_footer, 12, body_.size(), uncompressed_size_);
  }
  if (auto fault = parse_body(collection_count)) {
    return fault;
  }
  if (block_count_ != block_count) {
    return refuse(k_invalid_footer, 4, block_count, block_count_);
  }
  return std::nullopt;
}

// Faults inside the compressed body are told at the frame.
std::optional<Fault> CollectionIndex::parse_body(std::uint32_t collection_count) {
  const Fault broken{k_invalid_footer, k_collection_header_bytes, {}, {}};
  base::ByteCursor cursor(body_.span());
  // Each entry takes five bytes at least, so the count is proven before it sizes anything.
  if (std::uint64_t{collection_count} * k_collection_entry_fixed_bytes > cursor.remaining()) {
    return broken;
  }
  entries_.reserve(collection_count);
  for (std::uint32_t i = 0; i < collection_count; ++i) {
    const auto length = cursor.u8();
    const auto count = cursor.u32le();
    const auto name = length && count ? cursor.bytes(*length) : std::nullopt;
    if (!name) {
      return broken;
    }
    entries_.push_back({base::as_text(*name), *count});
  }
  const auto masks = cursor.bytes(std::uint64_t{block_count_} * bitmask_bytes_);
  if (!masks) {
    return broken;
  }
  masks_ = masks->data();
  if (collection_count % 8 != 0) {
    const std::uint8_t unused = static_cast<std::uint8_t>(0xFF << (collection_count % 8));
    for (std::uint32_t block = 0; block < block_count_; ++block) {
      if ((base::u8(mask(block).back()) & unused) != 0) {
        return broken;
      }
    }
  }
  if (!cursor.at_end()) {
    return broken;
  }
  return std::nullopt;
}

}  // namespace varve::jss
