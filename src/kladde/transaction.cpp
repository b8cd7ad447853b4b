// SPDX-License-Identifier: MIT OR Apache-2.0
#include <limits>

#include "kladde/transaction_body.hpp"

namespace varve::kladde {

void TransactionBody::add(Record record, base::ByteSpan payload) {
  constexpr std::size_t k_largest_record = 32;  // without its payload
  const bool fits =
      payload.size() <= k_max_u32 && bytes.size() + payload.size() + k_largest_record <= k_max_u32;
  if (fits && record.has_payload()) {
    record.length = static_cast<std::uint32_t>(payload.size());
  }
  if (!fits || !within_bounds(record)) {
    broken = true;
    return;
  }
  record.position = static_cast<std::uint32_t>(bytes.size());
  append_record(bytes, record, payload);
  record.payload_position = static_cast<std::uint32_t>(bytes.size() - payload.size());
  records.push_back(record);
}

Transaction::Transaction() : body_(std::make_unique<TransactionBody>()) {}
Transaction::~Transaction() = default;
Transaction::Transaction(Transaction&&) noexcept = default;
Transaction& Transaction::operator=(Transaction&&) noexcept = default;

void Transaction::free(Id id) {
  Record record;
  record.kind = RecordKind::free;
  record.id = id;
  body_->add(record, {});
}

void Transaction::resize(Id id, std::uint32_t size) {
  Record record;
  record.kind = RecordKind::resize;
  record.id = id;
  record.length = size;
  body_->add(record, {});
}

void Transaction::write(Id id, std::uint32_t offset, std::span<const std::byte> bytes) {
  Record record;
  record.kind = RecordKind::write;
  record.id = id;
  record.offset = offset;
  body_->add(record, bytes);
}

void Transaction::splice(Id id, std::uint32_t offset, std::uint32_t old_length,
                         std::span<const std::byte> bytes) {
  Record record;
  record.kind = RecordKind::splice;
  record.id = id;
  record.offset = offset;
  record.old_length = old_length;
  body_->add(record, bytes);
}

namespace {
Record transfer(RecordKind kind, Id source, std::uint32_t source_offset, std::uint32_t length,
                Id target, std::uint32_t target_offset) {
  Record record;
  record.kind = kind;
  record.id = target;
  record.offset = target_offset;
  record.length = length;
  record.source = source;
  record.source_offset = source_offset;
  return record;
}
}  // namespace

void Transaction::copy(Id source, std::uint32_t source_offset, std::uint32_t length, Id target,
                       std::uint32_t target_offset) {
  body_->add(transfer(RecordKind::copy, source, source_offset, length, target, target_offset), {});
}

void Transaction::move(Id source, std::uint32_t source_offset, std::uint32_t length, Id target,
                       std::uint32_t target_offset) {
  body_->add(transfer(RecordKind::move, source, source_offset, length, target, target_offset), {});
}

std::size_t Transaction::records() const { return body_->records.size(); }

void Transaction::clear() {
  body_->bytes.clear();
  body_->records.clear();
  body_->broken = false;
}

}  // namespace varve::kladde
