// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/v2_records.hpp"

#include "base/cursor.hpp"
#include "tay/event_matcher.hpp"

namespace varve::tay {

namespace {

constexpr std::size_t k_snapshot_flag_at = k_id_bytes + 16;
constexpr std::size_t k_snapshot_prefix = k_snapshot_flag_at + 1;
constexpr std::size_t k_mutation_prefix = k_id_bytes + 1 + 24;

// What section 13 says about the map, else a breach of section 20.
ValueFault fault_of(ByteSpan map, const EventBudget& budget) {
  if (auto fault = check_value(map, budget)) {
    return *fault;
  }
  return {"invalid_event", false, 0};
}

void diagnostic(EventMatcher& in, std::uint8_t& code) {
  in.key("diagnostic");
  if (!in.nil()) {
    in.map(2);
    in.key("code");
    code = static_cast<std::uint8_t>(in.integer(1, 7));
    in.key("version");
    in.integer(1, 1);
  }
}

std::uint64_t order(EventMatcher& in) {
  in.key("availability_order");
  return in.integer_or(0, 1, k_u64_max);
}

// "A snapshot must be a state that events could have produced."
bool could_be(const Job& job) {
  const bool terminal = is_terminal(job.state);
  const bool attempted = job.attempted_at != k_nil;
  if (job.cycle > job.revision || job.execution > job.revision || job.cycle == 0 ||
      terminal != (job.terminal_at != k_nil) || terminal != (job.next_attempt == 0) ||
      (job.state == JobState::available) != (job.available_sequence != 0) ||
      (job.state == JobState::executing) != (job.execution != 0) ||
      (job.state == JobState::completed) != (job.completed_at != k_nil) ||
      (terminal || job.state == JobState::executing) != (job.eligible_at == k_nil) ||
      (job.attempt != 0) != attempted || job.attempt > job.max_attempts) {
    return false;
  }
  switch (job.state) {
    case JobState::scheduled:
      return job.revision == 1 && !attempted && job.next_attempt == 1;
    case JobState::available:
      return attempted || job.next_attempt == 1;
    case JobState::executing:
      return job.execution == job.revision && job.next_attempt == job.attempt && attempted;
    case JobState::retryable:
    case JobState::discarded:
      return job.diagnostic != 0 && attempted;
    case JobState::completed:
      return job.completed_at == job.terminal_at && attempted;
    case JobState::cancelled:
      return true;
  }
  return false;
}

void snapshot_map(EventMatcher& in, Job& job, DefinitionView& definition, std::string_view& state) {
  in.map(11);
  in.key("attempt");
  job.attempt = static_cast<std::uint32_t>(in.integer(0, k_max_attempt));
  in.key("attempted_at");
  job.attempted_at = in.time_or_nil();
  job.available_sequence = order(in);
  in.key("completed_at");
  job.completed_at = in.time_or_nil();
  in.key("definition");
  in.definition(definition, 2);
  diagnostic(in, job.diagnostic);
  in.key("eligible_at");
  job.eligible_at = in.time_or_nil();
  in.key("inserted_at");
  job.inserted_at = in.time();
  in.key("next_attempt");
  job.next_attempt = static_cast<std::uint32_t>(in.integer_or(0, 1, k_max_attempt));
  in.key("state");
  state = in.key_text();
  in.key("terminal_at");
  job.terminal_at = in.time_or_nil();
}

void mutation_map(EventMatcher& in, V2Mutation& out) {
  Event& event = out.event;
  switch (event.type) {
    case EventType::inserted: {
      in.map(3);
      out.availability_order = order(in);
      in.key("definition");
      in.definition(event.definition, 2);
      in.key("eligible_at");
      event.due_at = in.time();
      const std::uint64_t scheduled = event.definition.scheduled_at;
      in.require(event.due_at == (scheduled == k_nil ? event.at : scheduled));
      break;
    }
    case EventType::available:
      in.map(2);
      out.availability_order = order(in);
      in.key("due_at");
      event.due_at = in.time();
      in.require(event.due_at <= event.at);
      break;
    case EventType::started:
      in.map(2);
      in.key("attempt");
      event.attempt = in.attempt();
      in.key("cycle_token");
      event.token = in.sequence();
      break;
    case EventType::finished:
      in.map(6);
      diagnostic(in, event.diagnostic);
      in.key("disposition");
      event.disposition = static_cast<std::uint8_t>(in.integer(0, 2));
      in.key("execution_token");
      event.token = in.sequence();
      in.key("next_attempt");
      event.attempt = static_cast<std::uint32_t>(in.integer_or(0, 1, k_max_attempt));
      in.key("next_due_at");
      event.due_at = in.time_or_nil();
      in.key("outcome");
      event.outcome = static_cast<std::uint8_t>(in.integer(0, 3));
      in.require(is_legal_finish(event));
      break;
    case EventType::cancelled:
      in.map(1);
      in.key("execution_token");
      event.token = in.integer_or(0, 1, k_u64_max);
      break;
    case EventType::retried:
      in.map(3);
      out.availability_order = order(in);
      in.key("mode");
      event.mode = static_cast<std::uint8_t>(in.integer(0, 1));
      in.key("new_due_at");
      event.due_at = in.time();
      in.require(event.due_at == event.at);
      break;
  }
}

}  // namespace

std::size_t v2_prefix_bytes(std::uint8_t type, ByteSpan payload) {
  std::size_t size = k_mutation_prefix;
  if (type == k_type_snapshot) {
    if (payload.size() < k_snapshot_prefix) {
      return 0;
    }
    size = k_snapshot_prefix + (base::u8(payload[k_snapshot_flag_at]) == 1 ? 8 : 0);
  }
  return payload.size() < size ? 0 : size;
}

std::optional<ValueFault> decode_snapshot(ByteSpan payload, const EventBudget& budget,
                                          V2Snapshot& out) {
  out = V2Snapshot();
  const std::size_t prefix = v2_prefix_bytes(k_type_snapshot, payload);
  if (prefix == 0) {
    return ValueFault{"truncated_value", false, payload.size()};
  }
  Job& job = out.job;
  job.id = load_id(payload.data());
  job.revision = base::u64be(payload.data() + k_id_bytes);
  job.cycle = base::u64be(payload.data() + k_id_bytes + 8);
  const std::uint8_t flag = base::u8(payload[k_snapshot_flag_at]);
  job.execution = prefix > k_snapshot_prefix ? base::u64be(payload.data() + k_snapshot_prefix) : 0;
  const ByteSpan map = payload.subspan(prefix);
  EventMatcher in(map, budget);
  DefinitionView definition;
  std::string_view state_name;
  snapshot_map(in, job, definition, state_name);
  const auto state = job_state_of(state_name);
  if (!in.good() || !in.at_end() || !in.within_budget(4) || !state) {
    return fault_of(map, budget);
  }
  job.state = *state;
  job.max_attempts = definition.max_attempts;
  job.definition_length = static_cast<std::uint32_t>(definition.bytes.size());
  job.definition_nodes = static_cast<std::uint32_t>(definition.nodes);
  out.queue_key = definition.queue_key;
  out.worker_key = definition.worker_key;
  out.definition_at = static_cast<std::size_t>(definition.bytes.data() - payload.data());
  const bool token_fits = flag <= 1 && (flag == 1) == (job.execution != 0);
  if (!token_fits || is_zero(job.id) || job.revision == 0 || !could_be(job)) {
    return ValueFault{"invalid_event", false, 0};
  }
  return std::nullopt;
}

std::optional<ValueFault> decode_mutation(ByteSpan payload, const EventBudget& budget,
                                          V2Mutation& out) {
  out = V2Mutation();
  if (payload.size() < k_mutation_prefix) {
    return ValueFault{"truncated_value", false, payload.size()};
  }
  const std::byte* numbers = payload.data() + k_id_bytes + 1;
  const std::uint8_t kind = base::u8(payload[k_id_bytes]);
  Event& event = out.event;
  event.job_id = load_id(payload.data());
  event.expected_revision = base::u64be(numbers);
  out.new_revision = base::u64be(numbers + 8);
  event.at = base::u64be(numbers + 16);
  const ByteSpan map = payload.subspan(k_mutation_prefix);
  if (kind == 0 || kind > k_event_types) {
    return fault_of(map, budget);
  }
  event.type = EventType{kind};
  EventMatcher in(map, budget);
  mutation_map(in, out);
  if (!in.good() || !in.at_end() || !in.within_budget(kind == 1 ? 4 : 2)) {
    return fault_of(map, budget);
  }
  const bool first = event.type == EventType::inserted;
  if (is_zero(event.job_id) || event.at > k_time_max || first != (event.expected_revision == 0) ||
      event.expected_revision == k_u64_max || out.new_revision != event.expected_revision + 1) {
    return ValueFault{"invalid_event", false, 0};
  }
  if (first) {
    out.definition_at = static_cast<std::size_t>(event.definition.bytes.data() - payload.data());
  }
  return std::nullopt;
}

bool read_v2_facts(const RecordHeader& header, ByteSpan payload, const EventBudget& budget,
                   Event& out) {
  if (header.schema != k_event_schema) {
    return false;
  }
  if (header.type == k_type_snapshot) {
    V2Snapshot snapshot;
    if (decode_snapshot(payload, budget, snapshot)) {
      return false;
    }
    out.job_id = snapshot.job.id;
    out.at = k_nil;
    return true;
  }
  V2Mutation mutation;
  if (header.type != k_type_mutation || decode_mutation(payload, budget, mutation)) {
    return false;
  }
  out = mutation.event;
  return true;
}

}  // namespace varve::tay
