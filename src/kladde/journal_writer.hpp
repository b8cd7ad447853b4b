// SPDX-License-Identifier: MIT OR Apache-2.0
// Writes one journal segment: the stream over its page chain (section 8). Knows nothing of where
// pages come from.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/bytes.hpp"
#include "kladde/layout.hpp"
#include "kladde/walker.hpp"
#include "varve/file_system.hpp"

namespace varve::kladde {

class JournalWriter {
 public:
  // Begins segment `epoch`, whose first page is `first`. Nothing is written before an append.
  void begin(std::uint64_t epoch, PageNumber first);

  // How many pages an append of `record_bytes` continues on beyond those the segment has.
  std::size_t pages_needed(std::size_t record_bytes) const;
  // Appends one transaction: all its bytes are in the file when this returns. `fresh` are the pages
  // to continue on, exactly pages_needed() of them; each is written whole first. `extents` is set
  // to where the record bytes stand. After an error the segment must not be appended to any more.
  Result<void> append(io::File& file, base::ByteSpan records, std::span<const PageNumber> fresh,
                      std::vector<Extent>& extents);

  std::uint64_t epoch() const { return epoch_; }
  std::uint64_t transactions() const { return transactions_; }
  // The pages that hold the segment's bytes; empty while nothing was appended.
  std::span<const PageNumber> pages() const { return pages_; }
  PageNumber first_page() const { return first_; }
  std::uint32_t chain() const { return chain_; }
  // Bytes of the stream so far, trailers not counted.
  std::uint64_t stream_bytes() const { return stream_bytes_; }

  // Bytes written to the file by all segments so far.
  std::uint64_t bytes_written() const { return bytes_written_; }

  // The bytes at a file address, if this segment wrote them and still has them in memory.
  const std::byte* find(std::uint64_t address, std::size_t size) const;

 private:
  using Image = std::array<std::byte, k_page_bytes>;
  void put(base::ByteSpan bytes, bool feed);
  void enter(PageNumber page);
  void cross();
  Result<void> write_out(io::File& file, std::size_t first_image, std::size_t from);

  std::uint64_t epoch_ = 0;
  PageNumber first_ = 0;
  std::uint32_t chain_ = 0;
  std::size_t position_ = 0;
  std::uint64_t transactions_ = 0;
  std::uint64_t stream_bytes_ = 0;
  std::vector<PageNumber> pages_;
  // Images of the last pages of `pages_`: what readers and the fold want again soon.
  std::vector<std::unique_ptr<Image>> images_;
  std::unordered_map<PageNumber, const Image*> by_page_;  // the same
  std::span<const PageNumber> fresh_;
  std::vector<Extent>* extents_ = nullptr;
  std::size_t record_position_ = 0;
  std::uint64_t bytes_written_ = 0;
  base::Bytes stream_;
};

}  // namespace varve::kladde
