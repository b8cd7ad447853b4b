// SPDX-License-Identifier: MIT OR Apache-2.0
// A sealed or active segment taken apart in memory, for tests of what writes them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fixture_rows.hpp"
#include "jss/block.hpp"
#include "jss/block_builder.hpp"
#include "jss/footer.hpp"
#include "jss/layout.hpp"

namespace varve::jss::test {

struct SealedFile {
  std::string bytes;
  Header header;
  std::vector<IndexEntry> index;

  explicit SealedFile(std::string content) : bytes(std::move(content)) {
    header = load_header(data());
    for (std::uint32_t i = 0; header.checksum != 0 && i < header.block_count; ++i) {
      index.push_back(
          load_index_entry(data() + header.block_index_offset + i * k_index_entry_bytes));
    }
  }
  const std::byte* data() const { return reinterpret_cast<const std::byte*>(bytes.data()); }
  base::ByteSpan span() const { return base::as_bytes(bytes); }
  base::ByteSpan part(std::uint64_t from, std::uint64_t to) const {
    return span().subspan(from, to - from);
  }
  base::ByteSpan frame(std::size_t i) const {
    return span().subspan(index[i].offset + k_length_prefix_bytes, index[i].compressed_size);
  }
  base::ByteSpan index_section() const {
    return part(header.block_index_offset, header.did_bloom_offset);
  }
  base::ByteSpan did_bloom() const {
    return part(header.did_bloom_offset, header.block_did_bloom_offset);
  }
  base::ByteSpan block_blooms() const {
    return part(header.block_did_bloom_offset, header.collection_index_offset);
  }
  base::ByteSpan collection_head() const {
    return span().subspan(header.collection_index_offset, k_collection_header_bytes);
  }
  // The decompressed body of the collection index.
  std::string collection_body() const {
    const base::ByteSpan rest =
        span().subspan(header.collection_index_offset + k_collection_header_bytes);
    base::Buffer out;
    if (!rest.empty()) {
      EXPECT_EQ(FrameDecoder().decompress(rest, k_max_body_bytes, out), std::nullopt);
    }
    return std::string(base::as_text(out.span()));
  }
  std::vector<Row> rows() const {
    std::vector<Row> out;
    Block block;
    for (std::size_t i = 0; i < index.size(); ++i) {
      EXPECT_EQ(FrameDecoder().decode(frame(i), k_max_body_bytes, block), std::nullopt);
      for (std::size_t row = 0; row < block.columns.rows; ++row) {
        out.push_back(Row::of(event_at(block.columns, row)));
      }
    }
    return out;
  }
};

}  // namespace varve::jss::test
