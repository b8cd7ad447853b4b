// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kladde/record.hpp"

#include "base/mutant.hpp"

namespace varve::kladde {

const char* to_text(RecordKind kind) {
  switch (kind) {
    case RecordKind::free:
      return "free";
    case RecordKind::resize:
      return "resize";
    case RecordKind::write:
      return "write";
    case RecordKind::splice:
      return "splice";
    case RecordKind::copy:
      return "copy";
    case RecordKind::move:
      return "move";
  }
  return "";
}

bool within_bounds(const Record& record) {
  const auto fits = [](std::uint64_t offset, std::uint64_t length) {
    return offset + length <= k_max_u32 + (base::mutant("kladde-length-bound") ? 1 : 0);
  };
  if ((record.id == 0 && !base::mutant("kladde-id-zero")) || !fits(record.offset, record.length)) {
    return false;
  }
  switch (record.kind) {
    case RecordKind::splice:
      return fits(record.offset, record.old_length) || base::mutant("kladde-splice-bound");
    case RecordKind::copy:
    case RecordKind::move:
      return (record.source != 0 || base::mutant("kladde-source-zero")) &&
             fits(record.source_offset, record.length);
    default:
      return true;
  }
}

bool RecordDecoder::take(std::uint32_t& out) {
  const auto value = cursor_.varint();
  if (!value || (*value > k_max_u32 && !base::mutant("kladde-varint-range"))) {
    return false;
  }
  out = static_cast<std::uint32_t>(*value);
  return true;
}

bool RecordDecoder::read_fields(Record& record) {
  switch (record.kind) {
    case RecordKind::free:
      return take(record.id);
    case RecordKind::resize:
      return take(record.id) && take(record.length);
    case RecordKind::write:
    case RecordKind::splice:
      if (!take(record.id) || !take(record.offset) ||
          (record.kind == RecordKind::splice && !take(record.old_length)) || !take(record.length)) {
        return false;
      }
      record.payload_position = static_cast<std::uint32_t>(cursor_.position());
      return cursor_.skip(record.length);
    case RecordKind::copy:
    case RecordKind::move:
      return take(record.source) && take(record.source_offset) && take(record.length) &&
             take(record.id) && take(record.offset);
  }
  return false;
}

std::expected<std::optional<Record>, Fault> RecordDecoder::next() {
  if (cursor_.at_end()) {
    return std::nullopt;
  }
  Record record;
  record.position = static_cast<std::uint32_t>(cursor_.position());
  const std::uint8_t tag = *cursor_.u8();
  const bool reserved =
      tag < k_record_free || tag > k_record_move + (base::mutant("kladde-tag-range") ? 1 : 0);
  record.kind = static_cast<RecordKind>(tag);
  if (reserved || !read_fields(record) || !within_bounds(record)) {
    return std::unexpected(Fault{word::transaction, record.position, {}, Number::hex8(tag)});
  }
  return record;
}

void append_record(base::Bytes& out, const Record& record, base::ByteSpan payload) {
  base::ByteWriter writer(out);
  writer.u8(static_cast<std::uint8_t>(record.kind));
  if (record.has_source()) {
    writer.varint(record.source);
    writer.varint(record.source_offset);
    writer.varint(record.length);
    writer.varint(record.id);
    writer.varint(record.offset);
    return;
  }
  writer.varint(record.id);
  if (record.kind == RecordKind::free) {
    return;
  }
  if (record.kind != RecordKind::resize) {
    writer.varint(record.offset);
  }
  if (record.kind == RecordKind::splice) {
    writer.varint(record.old_length);
  }
  writer.varint(record.length);
  writer.bytes(payload);
}

}  // namespace varve::kladde
