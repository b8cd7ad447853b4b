// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/log_collector.hpp"

#include <array>
#include <charconv>

#include "base/text_coding.hpp"
#include "tay/v2_records.hpp"

namespace varve::tay {

namespace {

// Hex digits of an id without an allocation.
struct HexId {
  std::array<char, 2 * k_id_bytes> digits;
  explicit HexId(const Id& id) {
    constexpr std::string_view k_digits = "0123456789abcdef";
    for (std::size_t i = 0; i < id.size(); ++i) {
      digits[2 * i] = k_digits[base::u8(id[i]) >> 4];
      digits[2 * i + 1] = k_digits[base::u8(id[i]) & 15];
    }
  }
  std::string_view text() const { return {digits.data(), digits.size()}; }
};

}  // namespace

bool RecordMeaning::read(const RecordHeader& header, ByteSpan payload, Event& out) const {
  if (version == 2) {
    return read_v2_facts(header, payload, budget, out);
  }
  return header.type <= k_event_types && header.schema == k_event_schema &&
         !decode_event(EventType{header.type}, payload, budget, out);
}

std::string_view RecordMeaning::name(std::uint8_t type) const {
  const bool known =
      version == 2 ? type == k_type_snapshot || type == k_type_mutation : type <= k_event_types;
  return known ? event_name(type) : std::string_view();
}

LogCollector::LogCollector(const LogFilter& filter, const RecordMeaning& meaning,
                           std::uint64_t segment_id, const std::vector<bool>& wanted,
                           std::uint64_t row_limit, const BatchMapper* mapper)
    : filter_(filter),
      meaning_(meaning),
      segment_id_(segment_id),
      wanted_(wanted),
      event_wanted_(wanted[k_log_job_id] || wanted[k_log_time] || filter.needs_event()),
      row_limit_(row_limit),
      mapper_(mapper),
      builder_(log_schema()) {}

bool LogCollector::record(const RecordHeader& header, std::uint64_t offset, ByteSpan payload) {
  if (!filter_.takes_header(header.sequence, header.type)) {
    return true;
  }
  Event event;
  const bool decodes = event_wanted_ && meaning_.read(header, payload, event);
  if (!filter_.takes_event(decodes ? &event : nullptr)) {
    return true;
  }
  add_row(header, offset, payload, decodes ? &event : nullptr);
  return builder_.rows() < row_limit_;
}

void LogCollector::add_row(const RecordHeader& header, std::uint64_t offset, ByteSpan payload,
                           const Event* event) {
  builder_.add_u64(k_log_seq, header.sequence);
  if (const std::string_view name = meaning_.name(header.type); !name.empty()) {
    builder_.add_bytes(k_log_type, name);
  } else {
    std::array<char, 4> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), header.type).ptr;
    builder_.add_bytes(k_log_type, {digits.data(), static_cast<std::size_t>(end - digits.data())});
  }
  builder_.add_u64(k_log_schema, header.schema);
  if (event != nullptr) {
    builder_.add_bytes(k_log_job_id, HexId(event->job_id).text());
    if (const auto time = event->at == k_nil ? std::nullopt : time_us(event->at)) {
      builder_.add_i64(k_log_time, *time);
    }
  }
  if (wanted_[k_log_payload]) {
    builder_.add_bytes(k_log_payload, base::as_text(payload));
  }
  builder_.add_u64(k_log_segment, segment_id_);
  builder_.add_u64(k_log_offset, offset);
  builder_.add_u64(k_log_length, header.frame_bytes());
  builder_.end_row();
}

void LogCollector::finish() {
  batch_ = builder_.finish();
  drop_unwanted(batch_, wanted_);
  if (mapper_ != nullptr && batch_.rows != 0) {
    mapper_->map(batch_);
  }
}

std::vector<bool> wanted_columns(const Schema& schema, const std::vector<std::string>& names) {
  std::vector<bool> wanted(schema.fields.size(), names.empty());
  for (const std::string& name : names) {
    if (const int column = schema.find(name); column >= 0) {
      wanted[static_cast<std::size_t>(column)] = true;
    }
  }
  return wanted;
}

void drop_unwanted(Batch& batch, const std::vector<bool>& wanted) {
  for (std::size_t i = 0; i < batch.columns.size(); ++i) {
    if (!wanted[i]) {
      batch.columns[i] = Column();
    }
  }
}

}  // namespace varve::tay
