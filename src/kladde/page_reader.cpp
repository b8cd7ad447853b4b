// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kladde/page_reader.hpp"

#include <algorithm>
#include <cassert>

namespace varve::kladde {

namespace {
constexpr std::uint64_t k_window_pages = 64;  // 256 KiB
}

std::unexpected<Error> changed_while_read(const io::File& file, std::uint64_t offset) {
  Error error;
  error.code = ErrorCode::locked;
  error.path = file.path();
  error.offset = offset;
  error.reason = "changed";
  error.message = "the store changes while it is read; try again later";
  return std::unexpected(std::move(error));
}

Result<std::uint64_t> next_data_page(const io::File& file, std::uint64_t page) {
  VARVE_ASSIGN(const auto data, file.next_data(page * k_page_bytes));
  return data ? *data / k_page_bytes : k_max_pages;
}

PageReader::PageReader(const io::File& file, std::uint64_t page_count)
    : file_(&file),
      page_count_(page_count),
      buffer_(std::make_unique_for_overwrite<std::byte[]>(k_window_pages * k_page_bytes)) {}

Result<base::ByteSpan> PageReader::page(std::uint64_t number) {
  assert(number < page_count_);
  if (number < first_ || number >= end_) {
    ahead_ = number == end_ ? std::min(ahead_ * 4, k_window_pages) : 1;
    const std::uint64_t wanted = std::min(ahead_, page_count_ - number);
    const std::uint64_t offset = number * k_page_bytes;
    first_ = end_ = number;
    VARVE_ASSIGN(const std::size_t got,
                 file_->read_at({buffer_.get(), wanted * k_page_bytes}, offset));
    bytes_read_ += got;
    end_ = number + got / k_page_bytes;
    if (end_ == number) {
      return changed_while_read(*file_, offset);
    }
  }
  return base::ByteSpan(buffer_.get() + (number - first_) * k_page_bytes, k_page_bytes);
}

}  // namespace varve::kladde
