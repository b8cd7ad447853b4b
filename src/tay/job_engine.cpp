// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/job_engine.hpp"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

namespace varve::tay {

namespace {

// Waiting bytes after which a long run of events is written before it goes on.
constexpr std::size_t k_settle_bytes = std::size_t{8} << 20;

std::unexpected<Error> refused(std::string reason, std::string message) {
  return fail(ErrorCode::invalid_argument, std::move(reason), std::move(message));
}

std::unexpected<Error> above(const char* word, std::uint64_t limit, std::uint64_t wanted,
                             const char* message) {
  auto out = fail(ErrorCode::limit, word, message);
  out.error().expected = Number::decimal(limit);
  out.error().actual = Number::decimal(wanted);
  return out;
}

std::unexpected<Error> illegal(const Event& event, const Job* job) {
  const auto type = static_cast<std::uint8_t>(event.type);
  return refused("invalid_transition",
                 std::string(event_name(type)) + " may not follow: the job " +
                     (job == nullptr ? std::string("does not exist")
                                     : "is " + std::string(to_text(job->state)) +
                                           ", or the event does not name its current revision, "
                                           "attempt, run or time"));
}

std::uint8_t diagnostic_of(Outcome outcome, Failure failure) {
  switch (outcome) {
    case Outcome::success:
      return 0;
    case Outcome::worker_failure:
      return static_cast<std::uint8_t>(failure);
    case Outcome::timeout:
      return 5;
    default:
      return 7;
  }
}

}  // namespace

JobEngine::JobEngine(JobTable jobs, LogWriter writer, const InsertionLimits& limits)
    : jobs_(std::move(jobs)), writer_(std::move(writer)), limits_(limits) {
  for (Index i = 0; i < jobs_.size(); ++i) {
    ready_.add(job(i), i);
  }
}

std::uint64_t JobEngine::now_ms() const {
  const std::int64_t now_us = writer_.options().environment->now_us();
  return now_us < 0 ? 0 : static_cast<std::uint64_t>(now_us) / 1000;
}

// An unbiased integer in [0, most].
std::uint64_t JobEngine::draw(std::uint64_t most) const {
  const std::uint64_t span = most + 1;
  const std::uint64_t usable = k_u64_max - k_u64_max % span;
  for (;;) {
    std::uint64_t value = 0;
    writer_.options().environment->random(std::as_writable_bytes(std::span(&value, 1)));
    if (value < usable) {
      return value % span;
    }
  }
}

std::optional<JobEngine::Index> JobEngine::index_of(const Id& id) const {
  const Job* found = jobs_.find(id);
  if (found == nullptr) {
    return std::nullopt;
  }
  return static_cast<Index>(found - jobs_.jobs().data());
}

Result<std::optional<JobEngine::Index>> JobEngine::find(const Id& id) const {
  if (writer_.poison()) {
    return fail(ErrorCode::poisoned, "poisoned", "an earlier write failed; reopen and look");
  }
  return index_of(id);
}

Result<RecordPlace> JobEngine::take(const Event& event, ByteSpan payload) {
  VARVE_ASSIGN(const RecordPlace planned, writer_.plan(payload.size()));
  EventPlace place;
  place.revision = place.order = planned.sequence;
  const std::optional<Index> before = index_of(event.job_id);
  if (event.type == EventType::inserted && !before) {
    VARVE_TRY(check_retained(event.definition));
  }
  if (before) {
    ready_.remove(job(*before), *before);
  }
  const bool applied = jobs_.apply(event, place);
  const Index index = before.value_or(static_cast<Index>(jobs_.size() - (applied ? 1 : 0)));
  if (applied || before) {
    ready_.add(job(index), index);
  }
  if (!applied) {
    return illegal(event, before ? &job(index) : nullptr);
  }
  auto added = writer_.add(static_cast<std::uint8_t>(event.type), k_event_schema, payload);
  assert(added && added->sequence == planned.sequence);
  return added;
}

// Fills in what all events but the first have alike.
Result<void> JobEngine::emit(Event& event, const Job& job) {
  event.job_id = job.id;
  event.expected_revision = job.revision;
  payload_.clear();
  encode_event(event, payload_);
  VARVE_TRY(take(event, payload_));
  return {};
}

std::uint64_t JobEngine::executing() const {
  return jobs_.states()[static_cast<std::size_t>(JobState::executing)];
}

// What replay would say of one more job.
Result<void> JobEngine::check_retained(const DefinitionView& definition) const {
  const Budgets& budgets = writer_.options().budgets;
  Job job;
  job.definition_length = static_cast<std::uint32_t>(definition.bytes.size());
  job.definition_nodes = static_cast<std::uint32_t>(definition.nodes);
  if (jobs_.size() + 1 > budgets.retained_jobs) {
    return above("retained_jobs", budgets.retained_jobs, jobs_.size() + 1, "too many jobs");
  }
  const std::uint64_t bytes = jobs_.charged_bytes() + job.charge_bytes();
  if (bytes > budgets.retained_bytes) {
    return above("retained_bytes", budgets.retained_bytes, bytes,
                 "the jobs would be charged more bytes than they may");
  }
  const std::uint64_t nodes = jobs_.charged_nodes() + job.charge_nodes();
  if (nodes > budgets.retained_nodes) {
    return above("retained_nodes", budgets.retained_nodes, nodes, "the jobs have too many nodes");
  }
  return {};
}

// Section 16: what a new job may cost.
Result<void> JobEngine::check_insertion(const Event& event, std::size_t payload_bytes) const {
  const Budgets& budgets = writer_.options().budgets;
  const std::uint32_t most = std::min(limits_.payload_bytes, budgets.payload_bytes);
  if (payload_bytes > most) {
    return above("payload_bytes", most, payload_bytes, "the payload is too large");
  }
  if (event.definition.args.size() > limits_.args_bytes) {
    return above("args_bytes", limits_.args_bytes, event.definition.args.size(),
                 "the arguments are too large");
  }
  VARVE_ASSIGN(const RecordPlace place, writer_.plan(payload_bytes));
  if (place.segment_id > limits_.history_segments) {
    return above("history_segments", limits_.history_segments, place.segment_id,
                 "the history would have too many segments");
  }
  const std::uint64_t history =
      writer_.history_bytes() + place.frame_bytes + k_settlement_reserve_bytes * executing();
  if (history > limits_.history_bytes) {
    return above("history_bytes", limits_.history_bytes, history, "the history would be too long");
  }
  return {};
}

Result<JobEngine::Insertion> JobEngine::insert(const Id& id, ByteSpan definition) {
  if (is_zero(id)) {
    return refused("job_id", "a job's id is never all zeros");
  }
  VARVE_ASSIGN(const auto existing, find(id));
  if (existing) {
    if (!std::ranges::equal(jobs_.definition(job(*existing)), definition)) {
      return refused("conflict", "the id belongs to a job of another definition");
    }
    return Insertion{*existing, true};
  }
  Event event;
  event.job_id = id;
  event.at = now_ms();
  const auto view = decode_definition(definition, {k_u64_max, k_u64_max, k_u64_max});
  if (!view) {
    return refused("invalid_definition", "these bytes are no definition");
  }
  event.definition = *view;
  event.due_at = view->scheduled_at == k_nil ? event.at : view->scheduled_at;
  payload_.clear();
  encode_event(event, payload_);
  Event decoded;
  const EventBudget& replay = writer_.options().budgets.event;
  const EventBudget budget{std::min(limits_.depth, replay.depth),
                           std::min(limits_.nodes, replay.nodes), replay.bytes};
  if (const auto fault = decode_event(EventType::inserted, payload_, budget, decoded)) {
    return fault->limit ? fail(ErrorCode::limit, fault->word, "the arguments are too large")
                        : refused("invalid_definition", fault->word);
  }
  VARVE_TRY(check_insertion(decoded, payload_.size()));
  VARVE_TRY(take(decoded, payload_));
  return Insertion{static_cast<Index>(jobs_.size() - 1), false};
}

Result<std::uint64_t> JobEngine::make_due_available() {
  const std::uint64_t now = now_ms();
  std::uint64_t count = 0;
  for (auto first = ready_.first_waiting(); first && job(*first).eligible_at <= now;
       first = ready_.first_waiting()) {
    Event event;
    event.type = EventType::available;
    event.at = now;
    event.due_at = job(*first).eligible_at;
    VARVE_TRY(emit(event, job(*first)));
    ++count;
  }
  return count;
}

Result<std::optional<JobEngine::Index>> JobEngine::next_ready(std::string_view queue_key) {
  VARVE_TRY(make_due_available());
  const auto queue = jobs_.text_index(queue_key);
  const auto first = queue ? ready_.first_ready(*queue) : std::nullopt;
  // The wall clock may have been set back since the job became available.
  return first && job(*first).eligible_at <= now_ms() ? first : std::nullopt;
}

Result<void> JobEngine::start(Index index) {
  Event event;
  event.type = EventType::started;
  event.at = now_ms();
  event.attempt = std::max(job(index).next_attempt, 1U);
  event.token = job(index).cycle;
  return emit(event, job(index));
}

Result<void> JobEngine::finish(Index index, std::uint64_t execution, Outcome outcome,
                               Failure failure) {
  const Job& now = job(index);
  Event event;
  event.type = EventType::finished;
  if (now.state != JobState::executing || execution != now.execution) {
    return illegal(event, &now);
  }
  event.at = now_ms();
  event.token = execution;
  event.outcome = static_cast<std::uint8_t>(outcome);
  event.diagnostic = diagnostic_of(outcome, failure);
  if (outcome == Outcome::success) {
    event.disposition = static_cast<std::uint8_t>(Disposition::completed);
  } else if (outcome != Outcome::interrupted && now.attempt >= now.max_attempts) {
    event.disposition = static_cast<std::uint8_t>(Disposition::discarded);
  } else {
    event.disposition = static_cast<std::uint8_t>(Disposition::retryable);
    event.attempt = now.attempt + (outcome == Outcome::interrupted ? 0 : 1);
    const RetryInterval interval = retry_interval(now.attempt, event.at);
    event.due_at = interval.low + draw(interval.high - interval.low);
  }
  if (!is_legal_finish(event)) {
    return refused("outcome", "there is no such outcome or failure");
  }
  return emit(event, now);
}

Result<void> JobEngine::cancel(Index index) {
  Event event;
  event.type = EventType::cancelled;
  event.at = now_ms();
  event.token = job(index).execution;
  return emit(event, job(index));
}

Result<void> JobEngine::retry(Index index) {
  Event event;
  event.type = EventType::retried;
  event.at = now_ms();
  event.due_at = event.at;
  event.mode = job(index).state == JobState::discarded ? 1 : 0;
  return emit(event, job(index));
}

Result<std::uint64_t> JobEngine::settle() {
  std::uint64_t count = 0;
  for (Index i = 0; i < jobs_.size(); ++i) {
    if (job(i).state == JobState::executing) {
      VARVE_TRY(finish(i, job(i).execution, Outcome::interrupted, {}));
      ++count;
      if (writer_.waiting_bytes() > k_settle_bytes) {
        VARVE_TRY(writer_.commit());
      }
    }
  }
  VARVE_TRY(writer_.commit());
  return count;
}

}  // namespace varve::tay
