// SPDX-License-Identifier: MIT OR Apache-2.0
// Statements of the address table, and the codec of table page content in both dialects behind one
// interface (section 6.1, Appendix A).
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

enum class StatementKind : std::uint8_t {
  ref,        // bytes [offset, offset+size) stand in the file at `address`
  zero,       // bytes [offset, offset+size) are zero
  in_line,    // bytes [offset, offset+size) stand in the table page itself
  shrink,     // dialect A: the size is at least `offset`, everything behind is zero
  grow,       // dialect A: the size is at least `offset`
  tombstone,  // the allocation does not exist
  size,       // dialect B: the size is `offset`
};
const char* to_text(StatementKind kind, bool sizing);

struct Statement {
  Id id = 0;
  std::uint32_t offset = 0;  // n for shrink, grow and size; 0 for a tombstone
  std::uint32_t size = 0;    // of content statements
  // Where the statement stands: the caller's index of the table page, and place in its content.
  std::uint32_t table = 0;
  std::uint16_t position = 0;
  std::uint16_t length = 0;
  StatementKind kind = StatementKind::ref;
  bool sizing = false;  // dialect B: also states that the size is offset + size
  // ref: the file address; in_line: the position of the payload in the content (the walker makes a
  // file address of it).
  std::uint64_t address = 0;

  bool is_content() const {
    return kind == StatementKind::ref || kind == StatementKind::zero ||
           kind == StatementKind::in_line;
  }
  std::uint64_t end() const { return std::uint64_t{offset} + size; }
};

// Decodes the content of one table page: first all children, then all statements. Faults carry
// positions relative to the content.
class TableDecoder {
 public:
  TableDecoder(base::ByteSpan content, Dialect dialect) : cursor_(content), dialect_(dialect) {}
  std::size_t position() const { return cursor_.position(); }
  // The next child; nullopt at the zero byte that ends the list.
  std::expected<std::optional<PageNumber>, Fault> next_child();
  // The next statement; nullopt at the end of the content.
  std::expected<std::optional<Statement>, Fault> next_statement();

 private:
  struct Tag {
    StatementKind kind;
    bool sizing;
    std::uint32_t inline_bytes;
  };
  Tag read_tag(std::uint8_t tag) const;
  std::optional<Fault> advance_id(std::uint64_t delta, std::size_t at);
  std::optional<Fault> read_content_fields(Statement& out, std::uint32_t inline_bytes);
  Fault fault(std::size_t at, const char* word = word::table_page) const {
    return Fault{word, at, {}, {}};
  }

  base::ByteCursor cursor_;
  Dialect dialect_;
  std::uint64_t page_cursor_ = 0;
  std::uint64_t id_cursor_ = 0;
  std::uint64_t offset_cursor_ = 0;
};

// Builds the content of one table page of at most `max_bytes`. Children ascend; statements come in
// (id, offset) order.
class TableEncoder {
 public:
  TableEncoder(Dialect dialect, std::size_t max_bytes) : dialect_(dialect), max_(max_bytes) {}
  // False if it does not fit (nothing is added then; one byte stays reserved for the delimiter).
  bool add_child(PageNumber page);
  void end_children();
  // `payload` are the bytes of an in_line statement. False if it does not fit.
  bool add(const Statement& statement, base::ByteSpan payload);
  // Where the payload of the statement added last begins, in the content.
  std::size_t payload_position() const { return payload_position_; }
  std::size_t size() const { return content_.size(); }
  base::ByteSpan content() const { return content_; }

 private:
  Dialect dialect_;
  std::size_t max_;
  base::Bytes content_;
  PageNumber last_child_ = 0;
  Id last_id_ = 0;
  std::uint32_t offset_cursor_ = 0;
  std::size_t payload_position_ = 0;
};

// The largest payload of an in_line statement.
constexpr std::uint32_t max_inline_bytes(Dialect dialect) {
  return dialect == Dialect::a ? k_a_max_inline_bytes : k_b_max_inline_bytes;
}
// Bytes that a varint takes.
constexpr std::size_t varint_bytes(std::uint64_t value) {
  std::size_t n = 1;
  while (value >= 0x80) {
    value >>= 7;
    ++n;
  }
  return n;
}

}  // namespace varve::kladde
