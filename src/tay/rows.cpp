// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/rows.hpp"

#include <array>

#include "base/checksum.hpp"
#include "base/json_writer.hpp"
#include "base/text_coding.hpp"
#include "tay/v2_records.hpp"
#include "tay/value_json.hpp"

namespace varve::tay {

namespace {

using base::as_bytes;

// Writes one batch's rows.
class Rows {
 public:
  Rows(const Batch& batch, const RenderOptions& options, std::string& out)
      : batch_(batch), options_(options), out_(out) {}

 protected:
  bool is_null(std::size_t column) const { return batch_.columns[column].is_null(row_); }
  std::string_view text(std::size_t column) const { return batch_.columns[column].bytes(row_); }

  void key(std::string_view name) {
    out_ += row_begins_ ? '{' : ',';
    row_begins_ = false;
    out_ += '"';
    out_ += name;
    out_ += "\":";
  }
  void wide(std::uint64_t value) {
    if (options_.int64_as_string) out_ += '"';
    base::append_integer(out_, value);
    if (options_.int64_as_string) out_ += '"';
  }
  void number(std::string_view name, std::size_t column) {
    key(name);
    if (is_null(column)) {
      out_ += "null";
      return;
    }
    const Column& values = batch_.columns[column];
    switch (batch_.schema->fields[column].type) {
      case ColumnType::uint8:
        base::append_integer(out_, values.value<std::uint8_t>(row_));
        break;
      case ColumnType::uint32:
        base::append_integer(out_, values.value<std::uint32_t>(row_));
        break;
      default:
        wide(values.value<std::uint64_t>(row_));
        break;
    }
  }
  void quoted(std::string_view name, std::size_t column) {
    key(name);
    base::append_json_text_or_bytes(out_, text(column));
  }
  // Bytes in the form that was asked for; `name` is that of the plain hex form.
  void bytes(std::string_view name, std::string_view value) {
    key(name);
    out_ += '"';
    base::append_hex(out_, as_bytes(value));
    out_ += '"';
  }

  const Batch& batch_;
  const RenderOptions& options_;
  std::string& out_;
  std::size_t row_ = 0;
  bool row_begins_ = true;
};

class LogRows : private Rows {
 public:
  using Rows::Rows;

  void write() {
    for (row_ = 0; row_ < batch_.rows; ++row_) {
      row_begins_ = true;
      number("seq", k_log_seq);
      type();
      number("schema", k_log_schema);
      payload();
      place();
      out_ += "}\n";
    }
  }

 private:
  void type() {
    const std::string_view name = text(k_log_type);
    key("type");
    const bool digits = name.front() >= '0' && name.front() <= '9';
    if (!digits) out_ += '"';
    out_ += name;
    if (!digits) out_ += '"';
  }

  void payload() {
    const std::string_view payload = text(k_log_payload);
    switch (options_.payload) {
      case PayloadForm::json:
        key("event");
        if (!is_null(k_log_job_id)) {
          event(as_bytes(payload));
          break;
        }
        out_ += "null";
        [[fallthrough]];
      case PayloadForm::base64:
        key("payload");
        base::append_json_bytes(out_, as_bytes(payload));
        break;
      case PayloadForm::hex:
        bytes("hex", payload);
        break;
      case PayloadForm::sha256:
        key("sha256");
        out_ += '"';
        base::append_hex(out_, base::sha256(as_bytes(payload)));
        out_ += '"';
        break;
      case PayloadForm::none:
        break;
    }
  }

  void event(base::ByteSpan payload) {
    const std::string_view type = text(k_log_type);
    const bool snapshot = type == "snapshot";
    if (snapshot || type == "mutation") {
      append_v2_json(out_, snapshot, payload, options_.int64_as_string);
    } else {
      append_value_json(out_, payload.data(), options_.int64_as_string);
    }
  }

  void place() {
    key("at");
    row_begins_ = true;
    number("segment", k_log_segment);
    number("offset", k_log_offset);
    number("length", k_log_length);
    out_ += '}';
  }
};

class StateRows : private Rows {
 public:
  using Rows::Rows;

  void write() {
    for (row_ = 0; row_ < batch_.rows; ++row_) {
      row_begins_ = true;
      quoted("job_id", k_state_job_id);
      quoted("state", k_state_state);
      for (std::size_t i = k_state_revision; i <= k_state_diagnostic_code; ++i) {
        number(batch_.schema->fields[i].name, i);
      }
      quoted("worker_key", k_state_worker_key);
      quoted("queue_key", k_state_queue_key);
      for (std::size_t i = k_state_max_attempts; i <= k_state_scheduled_at; ++i) {
        number(batch_.schema->fields[i].name, i);
      }
      if (options_.payload != PayloadForm::none) {
        bytes("definition_hex", text(k_state_definition));
        bytes("args_hex", text(k_state_args));
      }
      number("charge_bytes", k_state_charge_bytes);
      number("charge_nodes", k_state_charge_nodes);
      out_ += "}\n";
    }
  }
};

Field field(const char* name, ColumnType type, bool nullable = false, bool repeated = false) {
  return {name, type, nullable, repeated};
}

}  // namespace

const Schema& log_schema() {
  using enum ColumnType;
  static const Schema schema = {{
      field("seq", uint64),
      field("type", text, false, true),
      field("schema", uint8),
      field("job_id", text, true),
      field("time", timestamp_us, true),
      field("payload", bytes),
      field("at.segment", uint64),
      field("at.offset", uint64),
      field("at.length", uint64),
  }};
  return schema;
}

const Schema& state_schema() {
  using enum ColumnType;
  static const Schema schema = {{
      field("job_id", text),
      field("state", text, false, true),
      field("revision", uint64),
      field("attempt", uint32),
      field("next_attempt", uint32, true),
      field("cycle_token", uint64),
      field("execution_token", uint64, true),
      field("eligible_at", uint64, true),
      field("available_sequence", uint64, true),
      field("inserted_at", uint64),
      field("attempted_at", uint64, true),
      field("completed_at", uint64, true),
      field("diagnostic_code", uint8, true),
      field("worker_key", text, false, true),
      field("queue_key", text, false, true),
      field("max_attempts", uint32),
      field("timeout_ms", uint32),
      field("scheduled_at", uint64, true),
      field("definition", bytes),
      field("args", bytes),
      field("charge_bytes", uint64),
      field("charge_nodes", uint64),
  }};
  return schema;
}

void render_log(const Batch& batch, const RenderOptions& options, std::string& out) {
  LogRows(batch, options, out).write();
}

void render_state(const Batch& batch, const RenderOptions& options, std::string& out) {
  StateRows(batch, options, out).write();
}

}  // namespace varve::tay
