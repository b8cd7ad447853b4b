// SPDX-License-Identifier: MIT OR Apache-2.0
// Fields to canonical payload bytes; the keys of each map stand in ascending order.
#include <cassert>

#include "tay/event.hpp"

namespace varve::tay {

namespace {

void time_or_nil(ValueWriter& out, std::uint64_t time) {
  time == k_nil ? out.nil() : out.integer(time);
}

void identity(ValueWriter& out, const Event& event) {
  out.text("expected_revision");
  out.integer(event.expected_revision);
  out.text("job_id");
  out.opaque(event.job_id);
}

void at(ValueWriter& out, const Event& event) {
  out.text("at");
  out.integer(event.at);
}

void finished(ValueWriter& out, const Event& event) {
  out.map(9);
  at(out, event);
  out.text("diagnostic");
  if (event.diagnostic == 0) {
    out.nil();
  } else {
    out.map(2);
    out.text("code");
    out.integer(event.diagnostic);
    out.text("version");
    out.integer(1);
  }
  out.text("disposition");
  out.integer(event.disposition);
  out.text("execution_token");
  out.integer(event.token);
  identity(out, event);
  out.text("next_attempt");
  event.attempt == 0 ? out.nil() : out.integer(event.attempt);
  out.text("next_due_at");
  time_or_nil(out, event.due_at);
  out.text("outcome");
  out.integer(event.outcome);
}

}  // namespace

void encode_event(const Event& event, Bytes& bytes) {
  [[maybe_unused]] const std::size_t begin = bytes.size();
  ValueWriter out(bytes);
  switch (event.type) {
    case EventType::inserted:
      out.map(5);
      at(out, event);
      out.text("definition");
      bytes.insert(bytes.end(), event.definition.bytes.begin(), event.definition.bytes.end());
      out.text("eligible_at");
      out.integer(event.due_at);
      identity(out, event);
      break;
    case EventType::available:
      out.map(4);
      at(out, event);
      out.text("due_at");
      out.integer(event.due_at);
      identity(out, event);
      break;
    case EventType::started:
      out.map(5);
      at(out, event);
      out.text("attempt");
      out.integer(event.attempt);
      out.text("cycle_token");
      out.integer(event.token);
      identity(out, event);
      break;
    case EventType::finished:
      finished(out, event);
      break;
    case EventType::cancelled:
      out.map(4);
      at(out, event);
      out.text("execution_token");
      event.token == 0 ? out.nil() : out.integer(event.token);
      identity(out, event);
      break;
    case EventType::retried:
      out.map(5);
      at(out, event);
      identity(out, event);
      out.text("mode");
      out.integer(event.mode);
      out.text("new_due_at");
      out.integer(event.due_at);
      break;
  }
#ifndef NDEBUG
  Event again;
  const EventBudget unlimited{k_u64_max, k_u64_max, k_u64_max};
  assert(!decode_event(event.type, ByteSpan(bytes).subspan(begin), unlimited, again));
#endif
}

void encode_definition(const DefinitionFields& fields, Bytes& bytes) {
  ValueWriter out(bytes);
  out.map(8);
  out.text("args");
  bytes.insert(bytes.end(), fields.args.begin(), fields.args.end());
  out.text("definition_version");
  out.integer(1);
  out.text("max_attempts");
  out.integer(fields.max_attempts);
  out.text("queue_key");
  out.text(fields.queue_key);
  out.text("retry_policy");
  out.map(4);
  out.text("base_ms");
  out.integer(k_retry_base_ms);
  out.text("cap_ms");
  out.integer(k_retry_cap_ms);
  out.text("jitter_divisor");
  out.integer(k_retry_jitter_divisor);
  out.text("version");
  out.integer(1);
  out.text("scheduled_at");
  time_or_nil(out, fields.scheduled_at);
  out.text("timeout_ms");
  out.integer(fields.timeout_ms);
  out.text("worker_key");
  out.text(fields.worker_key);
}

}  // namespace varve::tay
