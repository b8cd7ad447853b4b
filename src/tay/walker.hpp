// SPDX-License-Identifier: MIT OR Apache-2.0
// Walks the records of one segment, or of a piece of one (section 6.4): proves each record, links
// sequences, and hashes each byte once. The only code that goes from record to record.
#pragma once

#include <cstdint>
#include <optional>

#include "tay/record.hpp"
#include "tay/window.hpp"

namespace varve::tay {

// Takes the proven records of a walk.
class RecordCollector {
 public:
  virtual ~RecordCollector() = default;
  // `payload` is good during the call only. Returns false to stop the walk behind this record.
  virtual bool record(const RecordHeader& header, std::uint64_t offset, ByteSpan payload) = 0;
  // The walk is over: on the same thread.
  virtual void finish() {}
};

// Why a walk ended at `Walk::end`.
struct WalkStop {
  enum class Kind : std::uint8_t {
    limit,        // the next unit begins at or behind the piece's limit, or the collector stopped
    end_of_file,  // nothing follows: an active segment
    footer,       // the footer's magic follows
    short_tail,   // 1 to 3 bytes that a record or footer could begin with
    not_a_unit,   // anything else: `invalid_magic`
    bad_record,   // `record` says what is wrong
    sequence,     // a whole record with another sequence than the next one
    too_many,     // one record more than a segment may hold
    io,           // reading failed
  };
  Kind kind = Kind::end_of_file;
  DecodedRecord record;  // bad_record, sequence: without payload
  std::uint64_t expected_sequence = 0;
  std::uint64_t available = 0;  // bytes left in the file
  Error error;                  // io

  bool incomplete_record() const {
    return kind == Kind::bad_record && (record.status == RecordStatus::incomplete_header ||
                                        record.status == RecordStatus::incomplete_payload ||
                                        record.status == RecordStatus::incomplete_checksum);
  }
};

// A run of proven records, each sequence one above the previous.
struct Walk {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  // the first byte behind the run
  std::uint64_t first_sequence = 0;
  std::uint64_t count = 0;
  std::uint32_t crc = 0;  // CRC-32C over [begin, end)
  WalkStop stop;

  // Of the record to come; 0 if there can be none.
  std::uint64_t next_sequence() const { return first_sequence + count; }
};

struct WalkRequest {
  std::uint64_t begin = 0;          // a boundary
  std::uint64_t limit = k_u64_max;  // no record that begins at or behind it
  // Unset: whatever the first record has. 0: none fits, the sequences are used up.
  std::optional<std::uint64_t> expected_sequence;
  std::uint64_t count_limit = k_u64_max;  // records that may still come
  std::uint32_t payload_budget = k_max_payload_bytes;
  RecordCollector* collector = nullptr;  // null: only prove and hash
};

// Walks in the window's file up to the window's end.
Walk walk_records(Window& window, const WalkRequest& request);

// The first offset in [from, to) where a plausible record header stands (magic, values, header
// CRC); nullopt if there is none. Whether a record truly begins there, the caller must know better.
Result<std::optional<std::uint64_t>> find_record_header(Window& window, std::uint64_t from,
                                                        std::uint64_t to,
                                                        std::uint32_t payload_budget);

}  // namespace varve::tay
