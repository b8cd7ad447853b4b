// SPDX-License-Identifier: MIT OR Apache-2.0
// The table of section 15. Each function either applies its event as a whole or changes nothing.
#include "tay/job_table.hpp"

namespace varve::tay {

namespace {

void make_available(Job& job, std::uint64_t eligible_at, std::uint64_t order) {
  job.eligible_at = eligible_at;
  job.available_sequence = order;
}

bool may_become_available(const Job& job, const Event& event) {
  return (job.state == JobState::scheduled || job.state == JobState::retryable) &&
         event.due_at == job.eligible_at;
}

bool may_start(const Job& job, const Event& event) {
  return job.state == JobState::available && event.attempt == job.next_attempt &&
         event.attempt <= job.max_attempts && event.token == job.cycle &&
         event.at >= job.eligible_at;
}

// The only legal pair of disposition and next attempt for an outcome.
bool may_finish(const Job& job, const Event& event) {
  if (job.state != JobState::executing || event.token != job.execution) {
    return false;
  }
  auto disposition = Disposition::retryable;
  std::uint32_t next_attempt = job.attempt;
  switch (static_cast<Outcome>(event.outcome)) {
    case Outcome::success:
      disposition = Disposition::completed;
      next_attempt = 0;
      break;
    case Outcome::interrupted:
      break;
    default:
      if (job.attempt < job.max_attempts) {
        next_attempt = job.attempt + 1;
      } else {
        disposition = Disposition::discarded;
        next_attempt = 0;
      }
      break;
  }
  if (event.disposition != static_cast<std::uint8_t>(disposition) ||
      event.attempt != next_attempt) {
    return false;
  }
  if (disposition != Disposition::retryable) {
    return true;
  }
  const RetryInterval interval = retry_interval(job.attempt, event.at);
  return event.due_at >= interval.low && event.due_at <= interval.high;
}

bool may_cancel(const Job& job, const Event& event) {
  return !is_terminal(job.state) &&
         event.token == (job.state == JobState::executing ? job.execution : 0);
}

bool may_retry(const Job& job, const Event& event) {
  return job.state == (event.mode == 0 ? JobState::retryable : JobState::discarded);
}

JobState state_after_finish(const Event& event) {
  switch (static_cast<Disposition>(event.disposition)) {
    case Disposition::completed:
      return JobState::completed;
    case Disposition::retryable:
      return JobState::retryable;
    default:
      return JobState::discarded;
  }
}

void finish(Job& job, const Event& event) {
  job.next_attempt = event.attempt;
  job.eligible_at = event.due_at;
  job.execution = 0;
  if (event.disposition == static_cast<std::uint8_t>(Disposition::completed)) {
    job.completed_at = event.at;
  }
  if (event.disposition != static_cast<std::uint8_t>(Disposition::retryable)) {
    job.terminal_at = event.at;
  }
  if (event.diagnostic != 0) {
    job.diagnostic = event.diagnostic;
  }
}

void cancel(Job& job, const Event& event) {
  job.execution = 0;
  job.next_attempt = 0;
  job.eligible_at = k_nil;
  job.available_sequence = 0;
  job.terminal_at = event.at;
}

void retry(Job& job, const Event& event, const EventPlace& place) {
  if (event.mode == 1) {
    job.attempt = 0;
    job.next_attempt = 1;
    job.cycle = place.revision;
    job.attempted_at = k_nil;
    job.completed_at = k_nil;
    job.terminal_at = k_nil;
  }
  make_available(job, event.at, place.order);
  job.execution = 0;
}

}  // namespace

bool JobTable::insert(const Event& event, const EventPlace& place) {
  if (find(event.job_id) != nullptr) {
    return false;
  }
  Job job;
  job.id = event.job_id;
  job.state = event.due_at <= event.at ? JobState::available : JobState::scheduled;
  job.revision = place.revision;
  job.cycle = place.revision;
  job.next_attempt = 1;
  job.eligible_at = event.due_at;
  job.available_sequence = job.state == JobState::available ? place.order : 0;
  job.inserted_at = event.at;
  job.max_attempts = event.definition.max_attempts;
  job.definition_segment = place.segment;
  job.definition_offset = place.definition_offset;
  job.definition_length = static_cast<std::uint32_t>(event.definition.bytes.size());
  job.definition_nodes = static_cast<std::uint32_t>(event.definition.nodes);
  job.queue = intern(event.definition.queue_key);
  job.worker = intern(event.definition.worker_key);
  if (keep_definitions_) {
    keep(job, event.definition.bytes);
  }
  put(job);
  return true;
}

bool JobTable::apply(const Event& event, const EventPlace& place) {
  if (event.type == EventType::inserted) {
    return insert(event, place);
  }
  Job* const job = find_mutable(event.job_id);
  if (job == nullptr || event.expected_revision != job->revision ||
      job->revision >= place.revision) {
    return false;
  }
  switch (event.type) {
    case EventType::available:
      if (!may_become_available(*job, event)) return false;
      change_state(*job, JobState::available);
      make_available(*job, event.due_at, place.order);
      break;
    case EventType::started:
      if (!may_start(*job, event)) return false;
      change_state(*job, JobState::executing);
      job->attempt = event.attempt;
      job->execution = place.revision;
      job->attempted_at = event.at;
      job->available_sequence = 0;
      job->eligible_at = k_nil;
      break;
    case EventType::finished:
      if (!may_finish(*job, event)) return false;
      change_state(*job, state_after_finish(event));
      finish(*job, event);
      break;
    case EventType::cancelled:
      if (!may_cancel(*job, event)) return false;
      change_state(*job, JobState::cancelled);
      cancel(*job, event);
      break;
    case EventType::retried:
      if (!may_retry(*job, event)) return false;
      change_state(*job, JobState::available);
      retry(*job, event, place);
      break;
    default:
      return false;
  }
  job->revision = place.revision;
  return true;
}

}  // namespace varve::tay
