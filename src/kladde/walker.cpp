// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kladde/walker.hpp"

#include <algorithm>
#include <array>

#include "base/checksum.hpp"
#include "base/endian.hpp"

namespace varve::kladde {

std::uint32_t chain_start(std::uint64_t epoch) {
  std::array<std::byte, 8> bytes;
  base::store_le(bytes.data(), epoch);
  return base::crc32c(bytes);
}

const char* to_text(StopReason reason) {
  switch (reason) {
    case StopReason::none:
      return "the walk goes on";
    case StopReason::no_page:
      return "the journal pointer names a page below 2";
    case StopReason::pointer_past_end:
      return "journal pointer past the end of the file";
    case StopReason::length:
      return "length over five bytes";
    case StopReason::transaction_crc:
      return "transaction check failed";
    case StopReason::trailer_crc:
      return "page trailer check failed";
    case StopReason::next_past_end:
      return "next page past the end of the file";
    case StopReason::next_below_two:
      return "next page below 2";
    case StopReason::next_repeated:
      return "next page already in the segment";
    case StopReason::transaction_over_memory:
      return "transaction larger than the memory limit";
  }
  return "";
}

Place JournalTransaction::place_of(std::uint32_t position) const {
  auto extent = std::upper_bound(
      extents.begin(), extents.end(), position,
      [](std::uint32_t value, const Extent& candidate) { return value < candidate.position; });
  if (extent == extents.begin()) {
    return end;  // no record bytes at all
  }
  --extent;
  return {extent->place.page, extent->place.offset + (position - extent->position)};
}

JournalWalker::JournalWalker(PageReader& reader, std::uint64_t epoch, PageNumber first,
                             std::uint64_t max_bytes)
    : reader_(reader), max_bytes_(max_bytes), chain_(chain_start(epoch)) {
  chain_at_end_ = chain_;
  end_ = {first, 0};
  if (first < k_first_free_page) {
    stop_ = StopReason::no_page;
  } else if (first >= reader.page_count()) {
    stop_ = StopReason::pointer_past_end;
  }
}

Result<bool> JournalWalker::enter(PageNumber page) {
  VARVE_ASSIGN(page_, reader_.page(page));
  pages_.push_back(page);
  seen_.insert(page);
  position_ = fed_ = 0;
  return true;
}

void JournalWalker::feed() {
  chain_ = base::crc32c(page_.subspan(fed_, position_ - fed_), chain_);
  fed_ = position_;
}

// Leaves a page whose stream area is used up. `next` lies right behind that area, so that both are
// fed at once.
Result<bool> JournalWalker::cross() {
  position_ = k_trailer_crc_offset;
  feed();
  if (chain_ != base::u32le(page_.data() + k_trailer_crc_offset)) {
    return stop(StopReason::trailer_crc);
  }
  ++trailers_since_end_;
  const PageNumber next = base::u32le(page_.data() + k_next_offset);
  if (next < k_first_free_page) {
    return stop(StopReason::next_below_two);
  }
  if (next >= reader_.page_count()) {
    return stop(StopReason::next_past_end);
  }
  if (seen_.contains(next)) {
    return stop(StopReason::next_repeated);
  }
  return enter(next);
}

Result<std::optional<std::uint32_t>> JournalWalker::read_length() {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < k_max_length_prefix_bytes; ++i) {
    VARVE_ASSIGN(const bool more, need_byte());
    if (!more) {
      return std::nullopt;
    }
    const std::uint64_t byte = base::u8(page_[position_++]);
    value |= (byte & 0x7F) << (7 * i);
    if ((byte & 0x80) == 0) {
      if (value > k_max_u32) {
        break;
      }
      return static_cast<std::uint32_t>(value);
    }
  }
  stop(StopReason::length);
  return std::nullopt;
}

// Takes the record bytes: in place where they lie in one page, else collected in scratch_, which
// grows only as fast as trailers prove that the pages belong to the segment.
Result<bool> JournalWalker::read_records(std::uint32_t length) {
  extents_.clear();
  if (length == 0) {
    records_ = {};
    return true;
  }
  if (position_ + length <= k_stream_bytes) {
    extents_.push_back({0, {pages_.back(), static_cast<std::uint32_t>(position_)}});
    records_ = page_.subspan(position_, length);
    position_ += length;
    return true;
  }
  scratch_.clear();
  while (scratch_.size() < length) {
    VARVE_ASSIGN(const bool more, need_byte());
    if (!more) {
      return false;
    }
    if (scratch_.size() > max_bytes_) {
      return stop(StopReason::transaction_over_memory);
    }
    const std::size_t piece = std::min(length - scratch_.size(), k_stream_bytes - position_);
    extents_.push_back({static_cast<std::uint32_t>(scratch_.size()),
                        {pages_.back(), static_cast<std::uint32_t>(position_)}});
    const auto from = page_.subspan(position_, piece);
    scratch_.insert(scratch_.end(), from.begin(), from.end());
    position_ += piece;
  }
  records_ = scratch_;
  return true;
}

// The checksum field is not fed; its parts may lie in two pages.
Result<std::optional<std::uint32_t>> JournalWalker::read_crc() {
  std::uint32_t value = 0;
  for (unsigned i = 0; i < k_transaction_crc_bytes; ++i) {
    if (position_ == k_stream_bytes && records_.data() != scratch_.data()) {
      // The page's bytes are about to be given up, and the records stand in them.
      scratch_.assign(records_.begin(), records_.end());
      records_ = scratch_;
    }
    VARVE_ASSIGN(const bool more, need_byte());
    if (!more) {
      return std::nullopt;
    }
    value |= static_cast<std::uint32_t>(base::u8(page_[position_++])) << (8 * i);
    fed_ = position_;
  }
  return value;
}

Result<std::optional<JournalTransaction>> JournalWalker::next() {
  if (stop_ != StopReason::none) {
    return std::nullopt;
  }
  if (pages_.empty()) {
    VARVE_TRY(enter(end_.page));
    whole_pages_ = 1;
  }
  JournalTransaction out;
  out.index = transactions_;
  out.start = end_;
  VARVE_ASSIGN(const auto length, read_length());
  if (!length) {
    return std::nullopt;
  }
  VARVE_ASSIGN(const bool whole, read_records(*length));
  if (!whole) {
    return std::nullopt;
  }
  feed();
  const std::uint32_t expected = chain_;
  VARVE_ASSIGN(const auto stored, read_crc());
  if (!stored) {
    return std::nullopt;
  }
  if (*stored != expected) {
    stop(StopReason::transaction_crc);
    return std::nullopt;
  }
  end_ = {pages_.back(), static_cast<std::uint32_t>(position_)};
  chain_at_end_ = chain_;
  whole_pages_ = pages_.size();
  trailers_since_end_ = 0;
  ++transactions_;
  record_bytes_ += *length;
  out.end = end_;
  out.crc = expected;
  out.records = records_;
  out.extents = extents_;
  return out;
}

}  // namespace varve::kladde
