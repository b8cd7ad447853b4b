// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kladde/journal_writer.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "base/checksum.hpp"
#include "base/endian.hpp"
#include "base/mutant.hpp"
#include "kladde/statement.hpp"

namespace varve::kladde {

namespace {
constexpr std::size_t k_max_images = 4096;                   // 16 MiB
constexpr std::size_t k_write_bytes = std::size_t{1} << 20;  // at most so much in one call
}  // namespace

void JournalWriter::begin(std::uint64_t epoch, PageNumber first) {
  epoch_ = epoch;
  first_ = first;
  chain_ = chain_start(epoch);
  position_ = 0;
  transactions_ = 0;
  stream_bytes_ = 0;
  pages_.clear();
  images_.clear();
  by_page_.clear();
}

std::size_t JournalWriter::pages_needed(std::size_t record_bytes) const {
  const std::size_t bytes = varint_bytes(record_bytes) + record_bytes + k_transaction_crc_bytes;
  const std::size_t left = k_stream_bytes - position_;
  return bytes < left + (base::mutant("kladde-pages-needed") ? 0 : 1)
             ? 0
             : (bytes - left + k_stream_bytes - 1) / k_stream_bytes;
}

void JournalWriter::enter(PageNumber page) {
  pages_.push_back(page);
  images_.push_back(std::make_unique<Image>());
  images_.back()->fill(std::byte{0});
  by_page_[page] = images_.back().get();
  position_ = 0;
}

void JournalWriter::cross() {
  assert(!fresh_.empty());
  std::byte* trailer = images_.back()->data() + k_next_offset;
  base::store_le(trailer, fresh_.front());
  chain_ = base::mutant("kladde-chain-next") ? chain_ : base::crc32c({trailer, 4}, chain_);
  base::store_le(trailer + 4, chain_);
  enter(fresh_.front());
  fresh_ = fresh_.subspan(1);
}

void JournalWriter::put(base::ByteSpan bytes, bool feed) {
  while (!bytes.empty()) {
    if (position_ == k_stream_bytes) {
      cross();
    }
    const auto piece = bytes.first(std::min(bytes.size(), k_stream_bytes - position_));
    if (extents_ != nullptr) {
      extents_->push_back({static_cast<std::uint32_t>(record_position_),
                           {pages_.back(), static_cast<std::uint32_t>(position_)}});
      record_position_ += piece.size();
    }
    std::memcpy(images_.back()->data() + position_, piece.data(), piece.size());
    if (feed) {
      chain_ = base::crc32c(piece, chain_);
    }
    position_ += piece.size();
    stream_bytes_ += piece.size();
    bytes = bytes.subspan(piece.size());
  }
}

// Writes what changed: from `from` on in the image `first_image`, and every image behind it whole.
Result<void> JournalWriter::write_out(io::File& file, std::size_t first_image, std::size_t from) {
  const std::size_t page_shift = pages_.size() - images_.size();
  std::size_t at = first_image;
  if (from > 0) {
    const bool last = at + 1 == images_.size();
    const std::size_t end = last ? position_ : k_page_bytes;
    bytes_written_ += end - from;
    VARVE_TRY(file.write_at(base::ByteSpan(*images_[at]).subspan(from, end - from),
                            std::uint64_t{pages_[page_shift + at]} * k_page_bytes + from));
    ++at;
  }
  while (at < images_.size()) {
    const PageNumber page = pages_[page_shift + at];
    std::size_t end = at + 1;
    while (end < images_.size() && pages_[page_shift + end] == page + (end - at) &&
           (end - at) * k_page_bytes < k_write_bytes) {
      ++end;
    }
    bytes_written_ += (end - at) * k_page_bytes;
    if (end == at + 1) {
      VARVE_TRY(file.write_at(*images_[at], std::uint64_t{page} * k_page_bytes));
    } else {
      stream_.clear();
      for (std::size_t i = at; i < end; ++i) {
        stream_.insert(stream_.end(), images_[i]->begin(), images_[i]->end());
      }
      VARVE_TRY(file.write_at(stream_, std::uint64_t{page} * k_page_bytes));
    }
    at = end;
  }
  return {};
}

Result<void> JournalWriter::append(io::File& file, base::ByteSpan records,
                                   std::span<const PageNumber> fresh,
                                   std::vector<Extent>& extents) {
  assert(fresh.size() == pages_needed(records.size()));
  fresh_ = fresh;
  extents.clear();
  if (pages_.empty()) {
    enter(first_);
  }
  const std::size_t first_image = images_.size() - 1;
  const std::size_t from = position_;
  base::Bytes prefix;
  base::ByteWriter(prefix).varint(records.size());
  put(prefix, true);
  extents_ = &extents;
  record_position_ = 0;
  put(records, true);
  extents_ = nullptr;
  std::array<std::byte, k_transaction_crc_bytes> crc;
  base::store_le(crc.data(), chain_);
  put(crc, base::mutant("kladde-feed-crc"));
  ++transactions_;
  VARVE_TRY(write_out(file, first_image, from));
  if (images_.size() > k_max_images) {
    const std::size_t page_shift = pages_.size() - images_.size();
    const std::size_t gone = images_.size() - k_max_images / 2;
    for (std::size_t i = 0; i < gone; ++i) {
      by_page_.erase(pages_[page_shift + i]);
    }
    images_.erase(images_.begin(), images_.begin() + static_cast<std::ptrdiff_t>(gone));
  }
  return {};
}

const std::byte* JournalWriter::find(std::uint64_t address, std::size_t size) const {
  const std::size_t offset = address % k_page_bytes;
  const auto found = by_page_.find(static_cast<PageNumber>(address / k_page_bytes));
  if (found == by_page_.end() || offset + size > k_page_bytes) {
    return nullptr;
  }
  return found->second->data() + offset;
}

}  // namespace varve::kladde
