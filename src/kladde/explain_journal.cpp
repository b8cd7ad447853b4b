// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kladde/explain_journal.hpp"

#include <algorithm>

#include "kladde/fields.hpp"

namespace varve::kladde {

std::string record_text(const Record& record) {
  const auto text = [](auto value) { return std::to_string(value); };
  std::string out = std::string(to_text(record.kind)) + "(";
  if (record.has_source()) {
    return out + text(record.source) + ", " + text(record.source_offset) + ", " +
           text(record.length) + ", " + text(record.id) + ", " + text(record.offset) + ")";
  }
  out += text(record.id);
  if (record.kind == RecordKind::resize) {
    out += ", " + text(record.length);
  }
  if (record.has_payload()) {
    out += ", " + text(record.offset);
    out += record.kind == RecordKind::splice ? ", " + text(record.old_length) : "";
    out += ", " + text(record.length) + " bytes";
  }
  return out + ")";
}

void JournalLayout::add(const JournalTransaction& transaction, std::span<const Record> records) {
  const std::string name = "transaction " + std::to_string(transaction.index);
  // The prefix may carry redundant groups: its length is what lies before the first record byte.
  std::uint64_t prefix = 0;
  if (!transaction.extents.empty()) {
    const Place first = transaction.extents.front().place;
    prefix = first.page == transaction.start.page
                 ? first.offset - transaction.start.offset
                 : k_stream_bytes - transaction.start.offset + first.offset;
  } else {
    prefix = transaction.end.page == transaction.start.page
                 ? transaction.end.offset - transaction.start.offset - k_transaction_crc_bytes
                 : k_stream_bytes - transaction.start.offset + transaction.end.offset -
                       k_transaction_crc_bytes;
  }
  fields_.push_back({prefix,
                     {0, 0, "length", std::to_string(transaction.records.size()),
                      name + ": bytes of its records", false}});
  for (std::size_t i = 0; i < records.size(); ++i) {
    const std::uint64_t end =
        i + 1 < records.size() ? records[i + 1].position : transaction.records.size();
    fields_.push_back(
        {end - records[i].position, {0, 0, "record", record_text(records[i]), name, false}});
  }
  fields_.push_back({k_transaction_crc_bytes,
                     {0, 0, "crc", to_text(Number::hex32(transaction.crc)),
                      name + ": the chain value behind its last record", true}});
}

void JournalLayout::finish(const Journal& journal) {
  std::size_t page = 0;
  std::uint32_t offset = 0;
  const auto cross = [&] {
    const std::string next =
        page + 1 < journal.reached.size() ? std::to_string(journal.reached[page + 1]) : "";
    auto& parts = by_page_[journal.reached[page]];
    for (const FieldSpec& spec : k_journal_trailer_fields) {
      const bool check = spec.type == FieldType::hex32;
      parts.push_back({static_cast<std::uint32_t>(k_next_offset + spec.offset),
                       static_cast<std::uint32_t>(spec.length), spec.name, check ? "" : next,
                       spec.meaning, check});
    }
    ++page;
    offset = 0;
  };
  for (Field& field : fields_) {
    while (field.length > 0) {
      if (offset == k_stream_bytes) {
        cross();
      }
      if (page >= journal.reached.size()) {
        return;
      }
      const auto here = static_cast<std::uint32_t>(
          std::min<std::uint64_t>(field.length, k_stream_bytes - offset));
      JournalPart part = field.part;
      part.offset = offset;
      part.length = here;
      by_page_[journal.reached[page]].push_back(std::move(part));
      offset += here;
      field.length -= here;
    }
  }
}

const std::vector<JournalPart>& JournalLayout::parts(PageNumber page) const {
  static const std::vector<JournalPart> none;
  const auto found = by_page_.find(page);
  return found == by_page_.end() ? none : found->second;
}

}  // namespace varve::kladde
