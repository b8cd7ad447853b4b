// SPDX-License-Identifier: MIT OR Apache-2.0
// Store v2 records as bytes and as text.
#include <array>

#include "base/json_writer.hpp"
#include "base/text_coding.hpp"
#include "tay/v2_records.hpp"
#include "tay/value_json.hpp"

namespace varve::tay {

namespace {

void time_or_nil(ValueWriter& out, std::string_view key, std::uint64_t time) {
  out.text(key);
  time == k_nil ? out.nil() : out.integer(time);
}
void number_or_nil(ValueWriter& out, std::string_view key, std::uint64_t value) {
  out.text(key);
  value == 0 ? out.nil() : out.integer(value);
}
void number(ValueWriter& out, std::string_view key, std::uint64_t value) {
  out.text(key);
  out.integer(value);
}
void diagnostic(ValueWriter& out, std::uint8_t code) {
  out.text("diagnostic");
  if (code == 0) {
    out.nil();
    return;
  }
  out.map(2);
  number(out, "code", code);
  number(out, "version", 1);
}

// A field of the fixed prefix, for explain.
struct PrefixField {
  const char* name;
  std::uint8_t length;
  const char* meaning;
};
constexpr std::array k_snapshot_prefix_fields = {
    PrefixField{"job_id", 16, "the job"},
    PrefixField{"revision", 8, "logical revision"},
    PrefixField{"cycle_token", 8, "revision of the cycle's beginning"},
    PrefixField{"executing", 1, "1: an execution token follows"},
    PrefixField{"execution_token", 8, "revision of the start"},
};
constexpr std::array k_mutation_prefix_fields = {
    PrefixField{"job_id", 16, "the job"},
    PrefixField{"kind", 1, "as the event types of v1"},
    PrefixField{"expected_revision", 8, "logical revision before"},
    PrefixField{"new_revision", 8, "logical revision behind"},
    PrefixField{"at", 8, "when the producer decided"},
};

std::span<const PrefixField> prefix_fields(std::uint8_t type) {
  if (type == k_type_snapshot) {
    return k_snapshot_prefix_fields;
  }
  return k_mutation_prefix_fields;
}

std::string shown(const PrefixField& field, ByteSpan bytes) {
  return field.length == 16  ? base::to_hex(bytes)
         : field.length == 1 ? std::to_string(base::u8(bytes[0]))
                             : std::to_string(base::u64be(bytes.data()));
}

}  // namespace

void encode_mutation(const V2Mutation& mutation, Bytes& bytes) {
  const Event& event = mutation.event;
  base::ByteWriter prefix(bytes);
  prefix.bytes(event.job_id);
  prefix.u8(static_cast<std::uint8_t>(event.type));
  prefix.u64be(event.expected_revision);
  prefix.u64be(mutation.new_revision);
  prefix.u64be(event.at);
  ValueWriter out(bytes);
  switch (event.type) {
    case EventType::inserted:
      out.map(3);
      number_or_nil(out, "availability_order", mutation.availability_order);
      out.text("definition");
      bytes.insert(bytes.end(), event.definition.bytes.begin(), event.definition.bytes.end());
      number(out, "eligible_at", event.due_at);
      break;
    case EventType::available:
      out.map(2);
      number_or_nil(out, "availability_order", mutation.availability_order);
      number(out, "due_at", event.due_at);
      break;
    case EventType::started:
      out.map(2);
      number(out, "attempt", event.attempt);
      number(out, "cycle_token", event.token);
      break;
    case EventType::finished:
      out.map(6);
      diagnostic(out, event.diagnostic);
      number(out, "disposition", event.disposition);
      number(out, "execution_token", event.token);
      number_or_nil(out, "next_attempt", event.attempt);
      time_or_nil(out, "next_due_at", event.due_at);
      number(out, "outcome", event.outcome);
      break;
    case EventType::cancelled:
      out.map(1);
      number_or_nil(out, "execution_token", event.token);
      break;
    case EventType::retried:
      out.map(3);
      number_or_nil(out, "availability_order", mutation.availability_order);
      number(out, "mode", event.mode);
      number(out, "new_due_at", event.due_at);
      break;
  }
}

void encode_snapshot(const Job& job, ByteSpan definition, Bytes& bytes) {
  base::ByteWriter prefix(bytes);
  prefix.bytes(job.id);
  prefix.u64be(job.revision);
  prefix.u64be(job.cycle);
  prefix.u8(job.execution != 0 ? 1 : 0);
  if (job.execution != 0) {
    prefix.u64be(job.execution);
  }
  ValueWriter out(bytes);
  out.map(11);
  number(out, "attempt", job.attempt);
  time_or_nil(out, "attempted_at", job.attempted_at);
  number_or_nil(out, "availability_order", job.available_sequence);
  time_or_nil(out, "completed_at", job.completed_at);
  out.text("definition");
  bytes.insert(bytes.end(), definition.begin(), definition.end());
  diagnostic(out, job.diagnostic);
  time_or_nil(out, "eligible_at", job.eligible_at);
  number(out, "inserted_at", job.inserted_at);
  number_or_nil(out, "next_attempt", job.next_attempt);
  out.text("state");
  out.text(to_text(job.state));
  time_or_nil(out, "terminal_at", job.terminal_at);
}

void explain_v2_prefix(RowWriter& rows, std::uint64_t offset, std::uint8_t type, ByteSpan prefix,
                       unsigned depth) {
  std::size_t at = 0;
  for (const PrefixField& field : prefix_fields(type)) {
    if (at + field.length > prefix.size()) {
      return;
    }
    const ByteSpan bytes = prefix.subspan(at, field.length);
    rows.bytes(offset + at, bytes, field.length, depth, field.name, shown(field, bytes),
               field.meaning, ExplainRow::Check::none);
    at += field.length;
  }
}

void append_v2_json(std::string& out, bool is_snapshot, ByteSpan payload, bool int64_as_string) {
  const std::uint8_t type = is_snapshot ? k_type_snapshot : k_type_mutation;
  const ByteSpan prefix = payload.first(v2_prefix_bytes(type, payload));
  std::size_t at = 0;
  const char* separator = "{\"";
  for (const PrefixField& field : prefix_fields(type)) {
    if (at + field.length > prefix.size()) {
      break;
    }
    const ByteSpan bytes = prefix.subspan(at, field.length);
    at += field.length;
    const std::string_view name = field.name;
    if (name == "executing") {
      continue;
    }
    out += std::exchange(separator, ",\"");
    out += name;
    out += "\":";
    const bool kind = name == "kind";
    const bool quoted = field.length == 16 || kind || int64_as_string;
    if (quoted) out += '"';
    out += kind ? std::string(event_name(base::u8(bytes[0]))) : shown(field, bytes);
    if (quoted) out += '"';
  }
  if (is_snapshot && at == k_id_bytes + 17) {
    out += ",\"execution_token\":null";
  }
  std::string map;
  append_value_json(map, payload.data() + prefix.size(), int64_as_string);
  out += ',';
  out.append(map, 1);  // every map has members
}

}  // namespace varve::tay
