// SPDX-License-Identifier: MIT OR Apache-2.0
// Walks one journal segment along its epoch-salted CRC chain (sections 8.4 to 8.6). The only code
// that reads journal pages as a stream.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "kladde/layout.hpp"
#include "kladde/page_reader.hpp"
#include "kladde/page_set.hpp"
#include "varve/result.hpp"

namespace varve::kladde {

// A byte of the stream, in the file.
struct Place {
  PageNumber page = 0;
  std::uint32_t offset = 0;  // in the page
  std::uint64_t file_offset() const { return std::uint64_t{page} * k_page_bytes + offset; }
};

// A run of a transaction's record bytes that lies within one page.
struct Extent {
  std::uint32_t position = 0;  // in the record bytes
  Place place;
};

struct JournalTransaction {
  std::uint64_t index = 0;  // from 0 in the segment
  Place start;              // of the length prefix
  Place end;                // one past its crc
  std::uint32_t crc = 0;
  base::ByteSpan records;           // good until the walker moves on
  std::span<const Extent> extents;  // ascending; the first has position 0 (none if empty)
  Place place_of(std::uint32_t position) const;
};

enum class StopReason : std::uint8_t {
  none,                     // the walk goes on
  no_page,                  // the journal pointer names a page below 2
  pointer_past_end,         // an empty journal
  length,                   // a length prefix of more than five bytes or over 32 bits
  transaction_crc,          //
  trailer_crc,              //
  next_past_end,            // an ended journal
  next_below_two,           // a writer's bug
  next_repeated,            // a writer's bug
  transaction_over_memory,  // a transaction larger than the caller allows
};
const char* to_text(StopReason reason);

class JournalWalker {
 public:
  // `epoch` is the segment's: one more than that of the header which names `first`. `reader` is not
  // owned. A transaction of more than `max_bytes` stops the walk.
  JournalWalker(PageReader& reader, std::uint64_t epoch, PageNumber first, std::uint64_t max_bytes);

  // The next complete transaction whose checksum holds; nullopt at the stop. Errors are those of
  // reading.
  Result<std::optional<JournalTransaction>> next();

  StopReason stop_reason() const { return stop_; }
  // Where the transaction begins that did not come whole.
  Place stop_place() const { return end_; }
  // Whether a trailer whose chain value matches was crossed after the last whole transaction: the
  // bytes prove that this epoch went on.
  bool went_on() const { return trailers_since_end_ > 0; }
  std::uint64_t transactions() const { return transactions_; }
  // The pages of the journal: up to the last whole transaction, in chain order. The page that the
  // pointer names counts also while it holds no transaction, if it exists.
  std::span<const PageNumber> pages() const { return {pages_.data(), whole_pages_}; }
  // Every page that the walk reached, in chain order.
  std::span<const PageNumber> reached() const { return pages_; }
  // The chain value after the last whole transaction.
  std::uint32_t chain() const { return chain_at_end_; }
  std::uint64_t record_bytes() const { return record_bytes_; }

 private:
  Result<bool> enter(PageNumber page);
  Result<bool> cross();
  Result<bool> need_byte() {
    if (position_ < k_stream_bytes) {
      return true;
    }
    return cross();
  }
  Result<std::optional<std::uint32_t>> read_length();
  Result<bool> read_records(std::uint32_t length);
  Result<std::optional<std::uint32_t>> read_crc();
  void feed();
  bool stop(StopReason reason) {
    stop_ = reason;
    return false;
  }

  PageReader& reader_;
  std::uint64_t max_bytes_;
  StopReason stop_ = StopReason::none;
  base::ByteSpan page_;       // the current page's bytes
  std::size_t position_ = 0;  // the next byte
  std::size_t fed_ = 0;       // bytes before it are in the chain value
  std::uint32_t chain_ = 0;
  std::uint32_t chain_at_end_ = 0;
  std::uint64_t transactions_ = 0;
  std::uint64_t trailers_since_end_ = 0;
  std::uint64_t record_bytes_ = 0;
  Place end_;
  std::vector<PageNumber> pages_;
  std::size_t whole_pages_ = 0;
  PageSet seen_;
  base::Bytes scratch_;  // the record bytes of a transaction that straddles pages
  base::ByteSpan records_;
  std::vector<Extent> extents_;
};

// The chain value of a segment before its first byte.
std::uint32_t chain_start(std::uint64_t epoch);

}  // namespace varve::kladde
