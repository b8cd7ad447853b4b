// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/event.hpp"

#include <array>
#include <cassert>

#include "base/text_coding.hpp"
#include "tay/event_matcher.hpp"

namespace varve::tay {

namespace {

constexpr std::array<std::string_view, 9> k_event_names = {"",        "inserted", "available",
                                                           "started", "finished", "cancelled",
                                                           "retried", "snapshot", "mutation"};

void inserted(EventMatcher& in, Event& out) {
  in.map(5);
  in.key("at");
  out.at = in.time();
  in.key("definition");
  in.definition(out.definition, 2);
  in.key("eligible_at");
  out.due_at = in.time();
  in.key("expected_revision");
  out.expected_revision = in.integer(0, 0);
  in.key("job_id");
  out.job_id = in.id();
  const std::uint64_t scheduled = out.definition.scheduled_at;
  in.require(out.due_at == (scheduled == k_nil ? out.at : scheduled));
}

void available(EventMatcher& in, Event& out) {
  in.map(4);
  in.key("at");
  out.at = in.time();
  in.key("due_at");
  out.due_at = in.time();
  in.key("expected_revision");
  out.expected_revision = in.sequence();
  in.key("job_id");
  out.job_id = in.id();
  in.require(out.due_at <= out.at);
}

void started(EventMatcher& in, Event& out) {
  in.map(5);
  in.key("at");
  out.at = in.time();
  in.key("attempt");
  out.attempt = in.attempt();
  in.key("cycle_token");
  out.token = in.sequence();
  in.key("expected_revision");
  out.expected_revision = in.sequence();
  in.key("job_id");
  out.job_id = in.id();
}

void finished(EventMatcher& in, Event& out) {
  in.map(9);
  in.key("at");
  out.at = in.time();
  in.key("diagnostic");
  if (!in.nil()) {
    in.map(2);
    in.key("code");
    out.diagnostic = static_cast<std::uint8_t>(in.integer(1, 7));
    in.key("version");
    in.integer(1, 1);
  }
  in.key("disposition");
  out.disposition = static_cast<std::uint8_t>(in.integer(0, 2));
  in.key("execution_token");
  out.token = in.sequence();
  in.key("expected_revision");
  out.expected_revision = in.sequence();
  in.key("job_id");
  out.job_id = in.id();
  in.key("next_attempt");
  out.attempt = static_cast<std::uint32_t>(in.integer_or(0, 1, k_max_attempt));
  in.key("next_due_at");
  out.due_at = in.time_or_nil();
  in.key("outcome");
  out.outcome = static_cast<std::uint8_t>(in.integer(0, 3));
  in.require(is_legal_finish(out));
}

void cancelled(EventMatcher& in, Event& out) {
  in.map(4);
  in.key("at");
  out.at = in.time();
  in.key("execution_token");
  out.token = in.integer_or(0, 1, k_u64_max);
  in.key("expected_revision");
  out.expected_revision = in.sequence();
  in.key("job_id");
  out.job_id = in.id();
}

void retried(EventMatcher& in, Event& out) {
  in.map(5);
  in.key("at");
  out.at = in.time();
  in.key("expected_revision");
  out.expected_revision = in.sequence();
  in.key("job_id");
  out.job_id = in.id();
  in.key("mode");
  out.mode = static_cast<std::uint8_t>(in.integer(0, 1));
  in.key("new_due_at");
  out.due_at = in.time();
  in.require(out.due_at == out.at);
}

// How deep the parts with fixed keys lie.
constexpr std::uint64_t fixed_depth(const Event& event) {
  return event.type == EventType::inserted                            ? 4
         : event.type == EventType::finished && event.diagnostic != 0 ? 3
                                                                      : 2;
}

}  // namespace

std::string_view event_name(std::uint8_t type) {
  return type < k_event_names.size() ? k_event_names[type] : std::string_view();
}

std::uint8_t event_type_of(std::string_view name) {
  for (std::size_t type = 1; type < k_event_names.size(); ++type) {
    if (k_event_names[type] == name) {
      return static_cast<std::uint8_t>(type);
    }
  }
  return 0;
}

bool is_legal_finish(const Event& event) {
  const auto disposition = static_cast<Disposition>(event.disposition);
  const bool again = disposition == Disposition::retryable;
  if (again != (event.attempt != 0) || again != (event.due_at != k_nil)) {
    return false;
  }
  const std::uint8_t code = event.diagnostic;
  switch (static_cast<Outcome>(event.outcome)) {
    case Outcome::success:
      return disposition == Disposition::completed && code == 0;
    case Outcome::worker_failure:
      return disposition != Disposition::completed && ((code >= 1 && code <= 4) || code == 6);
    case Outcome::timeout:
      return disposition != Disposition::completed && code == 5;
    case Outcome::interrupted:
      return again && code == 7;
  }
  return false;
}

bool is_key(std::string_view text) {
  return !text.empty() && text.size() <= k_max_key_bytes &&
         text.find('\0') == std::string_view::npos && base::is_utf8(text);
}

void EventMatcher::definition(DefinitionView& out, std::uint64_t depth) {
  const std::size_t begin = position_;
  const std::uint64_t nodes_before = use_.nodes;
  map(8);
  key("args");
  out.args = plain_map(depth + 1);
  key("definition_version");
  integer(1, 1);
  key("max_attempts");
  out.max_attempts = attempt();
  key("queue_key");
  out.queue_key = key_text();
  key("retry_policy");
  map(4);
  key("base_ms");
  integer(k_retry_base_ms, k_retry_base_ms);
  key("cap_ms");
  integer(k_retry_cap_ms, k_retry_cap_ms);
  key("jitter_divisor");
  integer(k_retry_jitter_divisor, k_retry_jitter_divisor);
  key("version");
  integer(1, 1);
  key("scheduled_at");
  out.scheduled_at = time_or_nil();
  key("timeout_ms");
  out.timeout_ms = static_cast<std::uint32_t>(integer(1, k_max_timeout_ms));
  key("worker_key");
  out.worker_key = key_text();
  out.bytes = bytes_.subspan(begin, position_ - begin);
  out.nodes = use_.nodes - nodes_before;
}

std::optional<ValueFault> decode_event(EventType type, ByteSpan payload, const EventBudget& budget,
                                       Event& out) {
  EventMatcher in(payload, budget);
  out = Event();
  out.type = type;
  switch (type) {
    case EventType::inserted:
      inserted(in, out);
      break;
    case EventType::available:
      available(in, out);
      break;
    case EventType::started:
      started(in, out);
      break;
    case EventType::finished:
      finished(in, out);
      break;
    case EventType::cancelled:
      cancelled(in, out);
      break;
    case EventType::retried:
      retried(in, out);
      break;
  }
  if (in.good() && in.at_end() && in.within_budget(fixed_depth(out))) {
    return std::nullopt;
  }
  // Not the bytes of a legal event. What section 13 says about them comes first.
  if (auto fault = check_value(payload, budget)) {
    return fault;
  }
  return ValueFault{"invalid_event", false, 0};
}

std::optional<DefinitionView> decode_definition(ByteSpan bytes, const EventBudget& budget,
                                                std::uint64_t depth) {
  EventMatcher in(bytes, budget);
  DefinitionView out;
  in.definition(out, depth);
  if (in.good() && in.at_end() && in.within_budget(depth + 2)) {
    return out;
  }
  return std::nullopt;
}

}  // namespace varve::tay
