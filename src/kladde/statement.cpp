// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kladde/statement.hpp"

#include <cassert>

namespace varve::kladde {

const char* to_text(StatementKind kind, bool sizing) {
  switch (kind) {
    case StatementKind::ref:
      return sizing ? "Ref*" : "Ref";
    case StatementKind::zero:
      return sizing ? "Zero*" : "Zero";
    case StatementKind::in_line:
      return sizing ? "Inline*" : "Inline";
    case StatementKind::shrink:
      return "Shrink";
    case StatementKind::grow:
      return "Grow";
    case StatementKind::tombstone:
      return "Tombstone";
    case StatementKind::size:
      return "Size";
  }
  return "";
}

std::expected<std::optional<PageNumber>, Fault> TableDecoder::next_child() {
  const std::size_t at = cursor_.position();
  const auto delta = cursor_.varint();
  if (!delta) {
    return std::unexpected(fault(at));  // cut, overlong, or no delimiter
  }
  if (*delta == 0) {
    return std::nullopt;
  }
  if (*delta > k_max_u32 - page_cursor_) {
    return std::unexpected(
        Fault{word::child_range, at, Number::decimal(k_max_u32), Number::decimal(*delta)});
  }
  page_cursor_ += *delta;
  if (page_cursor_ < k_first_free_page) {
    return std::unexpected(Fault{word::child_range, at, Number::decimal(k_first_free_page),
                                 Number::decimal(page_cursor_)});
  }
  return static_cast<PageNumber>(page_cursor_);
}

TableDecoder::Tag TableDecoder::read_tag(std::uint8_t tag) const {
  using enum StatementKind;
  if (tag == k_tag_tombstone) {
    return {tombstone, false, 0};
  }
  if (dialect_ == Dialect::a) {
    switch (tag) {
      case k_tag_ref:
        return {ref, false, 0};
      case k_a_tag_zero:
        return {zero, false, 0};
      case k_a_tag_shrink:
        return {shrink, false, 0};
      case k_a_tag_grow:
        return {grow, false, 0};
      default:
        return {in_line, false, static_cast<std::uint32_t>(tag - k_a_tag_inline)};
    }
  }
  const bool sizing = (tag & 1) != 0;
  switch (tag & ~1) {
    case k_tag_ref:
      return {ref, sizing, 0};
    case k_b_tag_zero:
      return {zero, sizing, 0};
    case k_tag_tombstone:  // with bit 0: tag 5
      return {size, false, 0};
    default:
      return {in_line, sizing, static_cast<std::uint32_t>((tag - k_b_tag_inline) >> 1)};
  }
}

std::optional<Fault> TableDecoder::advance_id(std::uint64_t delta, std::size_t at) {
  if (delta > k_max_u32 - id_cursor_ || id_cursor_ + delta == 0) {
    return fault(at);
  }
  id_cursor_ += delta;
  if (delta != 0) {
    offset_cursor_ = 0;
  }
  return std::nullopt;
}

std::optional<Fault> TableDecoder::read_content_fields(Statement& out, std::uint32_t inline_bytes) {
  std::uint64_t size = inline_bytes;
  if (out.kind != StatementKind::in_line) {
    const std::size_t at = cursor_.position();
    const auto value = cursor_.varint();
    if (!value) {
      return fault(at);
    }
    size = *value;
  }
  if (size > k_max_u32 - offset_cursor_) {
    return fault(out.position);
  }
  offset_cursor_ += size;
  out.size = static_cast<std::uint32_t>(size);
  if (out.kind == StatementKind::ref) {
    const std::size_t at = cursor_.position();
    const auto address = cursor_.varint();
    if (!address || *address % k_page_bytes + size > k_page_bytes) {
      return fault(at);
    }
    out.address = *address;
  } else if (out.kind == StatementKind::in_line) {
    out.address = cursor_.position();
    if (!cursor_.skip(size)) {
      return fault(out.position);
    }
  }
  return std::nullopt;
}

std::expected<std::optional<Statement>, Fault> TableDecoder::next_statement() {
  if (cursor_.at_end()) {
    return std::nullopt;
  }
  const std::size_t at = cursor_.position();
  const auto id_delta = cursor_.varint();
  if (!id_delta) {
    return std::unexpected(fault(at));
  }
  if (const auto bad = advance_id(*id_delta, at)) {
    return std::unexpected(*bad);
  }
  const auto tag = cursor_.u8();
  if (!tag) {
    return std::unexpected(fault(at));
  }
  const Tag parts = read_tag(*tag);
  Statement out;
  out.id = static_cast<Id>(id_cursor_);
  out.position = static_cast<std::uint16_t>(at);
  out.kind = parts.kind;
  out.sizing = parts.sizing;
  if (out.kind != StatementKind::tombstone) {
    const auto offset_delta = cursor_.varint();
    if (!offset_delta || *offset_delta > k_max_u32 - offset_cursor_) {
      return std::unexpected(fault(at));
    }
    offset_cursor_ += *offset_delta;
    out.offset = static_cast<std::uint32_t>(offset_cursor_);
  }
  if (out.is_content()) {
    if (const auto bad = read_content_fields(out, parts.inline_bytes)) {
      return std::unexpected(*bad);
    }
  }
  out.length = static_cast<std::uint16_t>(cursor_.position() - at);
  return out;
}

bool TableEncoder::add_child(PageNumber page) {
  assert(page > last_child_ && page >= k_first_free_page);
  const std::uint32_t delta = page - last_child_;
  if (content_.size() + varint_bytes(delta) + 1 > max_) {
    return false;
  }
  base::ByteWriter(content_).varint(delta);
  last_child_ = page;
  return true;
}

void TableEncoder::end_children() { base::ByteWriter(content_).u8(0); }

bool TableEncoder::add(const Statement& statement, base::ByteSpan payload) {
  assert(statement.id > last_id_ ||
         (statement.id == last_id_ && statement.offset >= offset_cursor_));
  const std::size_t before = content_.size();
  base::ByteWriter out(content_);
  const Id id_delta = statement.id - last_id_;
  const std::uint32_t cursor = id_delta != 0 ? 0 : offset_cursor_;
  const std::uint32_t offset_delta = statement.offset - cursor;
  const std::uint8_t sizing = statement.sizing ? 1 : 0;
  const bool is_a = dialect_ == Dialect::a;
  out.varint(id_delta);
  switch (statement.kind) {
    case StatementKind::ref:
      out.u8(k_tag_ref + sizing);
      out.varint(offset_delta);
      out.varint(statement.size);
      out.varint(statement.address);
      break;
    case StatementKind::zero:
      out.u8(is_a ? k_a_tag_zero : static_cast<std::uint8_t>(k_b_tag_zero + sizing));
      out.varint(offset_delta);
      out.varint(statement.size);
      break;
    case StatementKind::in_line:
      assert(payload.size() == statement.size && !payload.empty());
      assert(payload.size() <= max_inline_bytes(dialect_));
      out.u8(static_cast<std::uint8_t>(is_a ? k_a_tag_inline + payload.size()
                                            : k_b_tag_inline + 2 * payload.size() + sizing));
      out.varint(offset_delta);
      payload_position_ = content_.size();
      out.bytes(payload);
      break;
    case StatementKind::shrink:
      out.u8(k_a_tag_shrink);
      out.varint(offset_delta);
      break;
    case StatementKind::grow:
      out.u8(k_a_tag_grow);
      out.varint(offset_delta);
      break;
    case StatementKind::tombstone:
      out.u8(k_tag_tombstone);
      break;
    case StatementKind::size:
      out.u8(k_b_tag_size);
      out.varint(offset_delta);
      break;
  }
  if (content_.size() > max_) {
    content_.resize(before);
    return false;
  }
  last_id_ = statement.id;
  offset_cursor_ = cursor + offset_delta + (statement.is_content() ? statement.size : 0);
  return true;
}

}  // namespace varve::kladde
