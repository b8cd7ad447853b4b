// SPDX-License-Identifier: MIT OR Apache-2.0
// Journal records and the bytes of a transaction (sections 8.2 and 8.3).
#pragma once

#include <cstdint>
#include <expected>
#include <optional>

#include "base/bytes.hpp"
#include "base/cursor.hpp"
#include "kladde/layout.hpp"
#include "varve/kladde.hpp"
#include "varve/result.hpp"

namespace varve::kladde {

enum class RecordKind : std::uint8_t {
  free = k_record_free,
  resize = k_record_resize,
  write = k_record_write,
  splice = k_record_splice,
  copy = k_record_copy,
  move = k_record_move,
};
const char* to_text(RecordKind kind);

struct Record {
  RecordKind kind = RecordKind::free;
  Id id = 0;                     // what the record changes: for copy and move the destination
  std::uint32_t offset = 0;      // write, splice; copy and move: in the destination
  std::uint32_t length = 0;      // resize: the size; else of what is written
  std::uint32_t old_length = 0;  // splice
  Id source = 0;                 // copy, move
  std::uint32_t source_offset = 0;
  // Where the record and its payload begin in the transaction's record bytes.
  std::uint32_t position = 0;
  std::uint32_t payload_position = 0;

  bool has_payload() const { return kind == RecordKind::write || kind == RecordKind::splice; }
  bool has_source() const { return kind == RecordKind::copy || kind == RecordKind::move; }
};

// Decodes the record bytes of one transaction. Faults (malformed-transaction) carry the position of
// the record within them; all bounds of section 8.2 but the size after a splice are checked.
class RecordDecoder {
 public:
  explicit RecordDecoder(base::ByteSpan bytes) : cursor_(bytes), bytes_(bytes) {}
  // The next record; nullopt at the end of the bytes.
  std::expected<std::optional<Record>, Fault> next();
  base::ByteSpan payload(const Record& record) const {
    return bytes_.subspan(record.payload_position, record.length);
  }

 private:
  bool read_fields(Record& record);
  bool take(std::uint32_t& out);

  base::ByteCursor cursor_;
  base::ByteSpan bytes_;
};

// Whether ids and offset+length sums are within the bounds that the record itself shows.
bool within_bounds(const Record& record);

// Appends the record's bytes; `payload` are the bytes written, for the kinds that have any.
void append_record(base::Bytes& out, const Record& record, base::ByteSpan payload);

}  // namespace varve::kladde
