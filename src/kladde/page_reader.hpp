// SPDX-License-Identifier: MIT OR Apache-2.0
// Reads pages through one reused buffer, ahead of the caller where pages follow each other.
#pragma once

#include <cstdint>
#include <memory>

#include "base/bytes.hpp"
#include "kladde/layout.hpp"
#include "varve/file_system.hpp"

namespace varve::kladde {

class PageReader {
 public:
  // `page_count`: pages at or past it are not read (the horizon). `file` is not owned.
  PageReader(const io::File& file, std::uint64_t page_count);

  std::uint64_t page_count() const { return page_count_; }
  const io::File& file() const { return *file_; }
  // The bytes of a page, good until the next call. The page must be below page_count(); if the file
  // has become shorter since, ErrorCode::locked, reason "changed".
  Result<base::ByteSpan> page(std::uint64_t number);
  // Bytes read from the file so far.
  std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  const io::File* file_;
  std::uint64_t page_count_;
  std::unique_ptr<std::byte[]> buffer_;
  std::uint64_t first_ = 0;  // pages [first_, end_) are in the buffer
  std::uint64_t end_ = 0;
  std::uint64_t ahead_ = 1;
  std::uint64_t bytes_read_ = 0;
};

// The first page at or behind `page` that may hold anything but zeros; the end of the file if none.
Result<std::uint64_t> next_data_page(const io::File& file, std::uint64_t page);

// The error of a file that changed while it was read.
std::unexpected<Error> changed_while_read(const io::File& file, std::uint64_t offset);

}  // namespace varve::kladde
