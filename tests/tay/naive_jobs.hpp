// SPDX-License-Identifier: MIT OR Apache-2.0
// Section 15 once more, written down as plainly as the text has it, to be compared with; and a
// source of random events, most of them legal.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tay/job_table.hpp"

namespace varve::tay::test {

using Number64 = std::optional<std::uint64_t>;

struct NaiveJob {
  std::string state;
  std::uint64_t revision = 0;
  std::uint64_t attempt = 0;
  Number64 next_attempt;
  std::uint64_t cycle = 0;
  Number64 execution;
  Number64 eligible_at;
  Number64 available_sequence;
  std::uint64_t inserted_at = 0;
  Number64 attempted_at;
  Number64 completed_at;
  Number64 diagnostic;
  std::uint64_t max_attempts = 0;
  Bytes definition;
};

class NaiveJobs {
 public:
  // True if the event may follow; it is applied then.
  bool apply(const Event& event, std::uint64_t s) {
    const auto found = jobs_.find(event.job_id);
    if (event.type == EventType::inserted) {
      return found == jobs_.end() && insert(event, s);
    }
    if (found == jobs_.end() || found->second.revision != event.expected_revision ||
        event.expected_revision >= s) {
      return false;
    }
    NaiveJob job = found->second;
    if (!change(job, event, s)) {
      return false;
    }
    job.revision = s;
    found->second = job;
    return true;
  }
  const std::map<Id, NaiveJob>& jobs() const { return jobs_; }

 private:
  bool insert(const Event& event, std::uint64_t s) {
    NaiveJob job;
    const bool now = event.due_at <= event.at;
    job.state = now ? "available" : "scheduled";
    job.revision = job.cycle = s;
    job.next_attempt = 1;
    job.eligible_at = event.due_at;
    if (now) job.available_sequence = s;
    job.inserted_at = event.at;
    job.max_attempts = event.definition.max_attempts;
    job.definition.assign(event.definition.bytes.begin(), event.definition.bytes.end());
    jobs_.emplace(event.job_id, std::move(job));
    return true;
  }

  static bool change(NaiveJob& job, const Event& event, std::uint64_t s) {
    switch (event.type) {
      case EventType::available:
        if (job.state != "scheduled" && job.state != "retryable") return false;
        if (job.eligible_at != event.due_at) return false;
        job.state = "available";
        job.available_sequence = s;
        return true;
      case EventType::started:
        if (job.state != "available" || job.next_attempt != event.attempt) return false;
        if (event.attempt > job.max_attempts || event.token != job.cycle) return false;
        if (event.at < *job.eligible_at) return false;
        job.state = "executing";
        job.attempt = event.attempt;
        job.execution = s;
        job.attempted_at = event.at;
        job.available_sequence.reset();
        job.eligible_at.reset();
        return true;
      case EventType::finished:
        return finish(job, event);
      case EventType::cancelled:
        if (job.state == "executing") {
          if (event.token != *job.execution) return false;
        } else if (job.state == "available" || job.state == "scheduled" ||
                   job.state == "retryable") {
          if (event.token != 0) return false;
        } else {
          return false;
        }
        job.state = "cancelled";
        job.execution.reset();
        job.next_attempt.reset();
        job.eligible_at.reset();
        job.available_sequence.reset();
        return true;
      case EventType::retried:
        if (event.mode == 0 && job.state != "retryable") return false;
        if (event.mode == 1 && job.state != "discarded") return false;
        if (event.mode == 1) {
          job.attempt = 0;
          job.next_attempt = 1;
          job.cycle = s;
          job.attempted_at.reset();
          job.completed_at.reset();
        }
        job.state = "available";
        job.eligible_at = event.at;
        job.available_sequence = s;
        job.execution.reset();
        return true;
      default:
        return false;
    }
  }

  static bool finish(NaiveJob& job, const Event& event) {
    if (job.state != "executing" || event.token != *job.execution) return false;
    const std::uint64_t n = job.attempt;
    unsigned disposition = 0;
    std::uint64_t next = 0;
    if (event.outcome == 3) {
      disposition = 1;
      next = n;
    } else if (event.outcome != 0) {
      disposition = n < job.max_attempts ? 1 : 2;
      next = n < job.max_attempts ? n + 1 : 0;
    }
    if (event.disposition != disposition || event.attempt != next) return false;
    if (disposition == 1) {
      // The table of D and J.
      constexpr std::uint64_t k_d[] = {1000, 2000, 4000, 8000, 16'000, 32'000, 60'000};
      constexpr std::uint64_t k_j[] = {250, 500, 1000, 2000, 4000, 8000, 0};
      const std::size_t row = std::min<std::size_t>(n, 7) - 1;
      const std::uint64_t low = std::min(k_time_max, event.at + k_d[row]);
      const std::uint64_t high = std::min(k_time_max, event.at + k_d[row] + k_j[row]);
      if (event.due_at < low || event.due_at > high) return false;
      job.eligible_at = event.due_at;
      job.next_attempt = next;
    } else {
      job.eligible_at.reset();
      job.next_attempt.reset();
    }
    constexpr const char* k_after[] = {"completed", "retryable", "discarded"};
    job.state = k_after[disposition];
    job.execution.reset();
    if (disposition == 0) job.completed_at = event.at;
    if (event.diagnostic != 0) job.diagnostic = event.diagnostic;
    return true;
  }

  std::map<Id, NaiveJob> jobs_;
};

// What differs between the two, by the job's id; empty if nothing does.
inline std::string difference(const NaiveJobs& naive, const JobTable& table) {
  if (naive.jobs().size() != table.size()) {
    return "another number of jobs";
  }
  const auto number = [](std::uint64_t value, std::uint64_t nil) {
    return value == nil ? Number64() : Number64(value);
  };
  for (const auto& [id, want] : naive.jobs()) {
    const Job* job = table.find(id);
    if (job == nullptr || want.state != to_text(job->state) || want.revision != job->revision ||
        want.attempt != job->attempt || want.next_attempt != number(job->next_attempt, 0) ||
        want.cycle != job->cycle || want.execution != number(job->execution, 0) ||
        want.eligible_at != number(job->eligible_at, k_nil) ||
        want.available_sequence != number(job->available_sequence, 0) ||
        want.inserted_at != job->inserted_at ||
        want.attempted_at != number(job->attempted_at, k_nil) ||
        want.completed_at != number(job->completed_at, k_nil) ||
        want.diagnostic != number(job->diagnostic, 0) ||
        !std::ranges::equal(want.definition, table.definition(*job))) {
      return "job " + std::to_string(base::u64be(id.data() + 8)) + ", " + want.state;
    }
  }
  return {};
}

// Random events over a small set of jobs.
class EventSource {
 public:
  explicit EventSource(std::uint64_t seed) : random_(seed) {}

  // An event that a correct producer might bring next, or one that is a little wrong. Its
  // definition stays good until the next call.
  Event next(const NaiveJobs& jobs) {
    now_ += draw(3000);
    if (draw(50) == 0) now_ -= std::min(now_, draw(5000));  // the wall clock steps back
    if (ids_.empty() || draw(12) == 0) {
      return insertion();
    }
    const Id& id =
        ids_[draw(4) == 0 ? draw(ids_.size() - 1)
                          : ids_.size() - 1 - draw(std::min<std::size_t>(ids_.size() - 1, 8))];
    const auto found = jobs.jobs().find(id);
    Event event = found == jobs.jobs().end() ? insertion() : step(id, found->second);
    if (draw(10) == 0) {
      spoil(event);
    }
    return event;
  }

 private:
  std::uint64_t draw(std::uint64_t most) {
    return std::uniform_int_distribution<std::uint64_t>(0, most)(random_);
  }

  Event insertion() {
    Id id{};
    base::store_be(id.data() + 8, std::uint64_t{ids_.size() + 1});
    ids_.push_back(id);
    Bytes args;
    ValueWriter writer(args);
    writer.map(1);
    writer.text("n");
    writer.integer(draw(1'000'000));
    DefinitionFields fields;
    fields.args = args;
    const std::string queue = "queue-" + std::to_string(draw(3));
    fields.queue_key = queue;
    fields.worker_key = "worker";
    fields.max_attempts = static_cast<std::uint32_t>(1 + draw(9));
    if (draw(2) == 0) fields.scheduled_at = now_ + draw(4000) - std::min(now_, draw(2000));
    definition_.clear();
    encode_definition(fields, definition_);
    Event event;
    event.type = EventType::inserted;
    event.job_id = id;
    event.at = now_;
    event.definition = *decode_definition(definition_, {});
    event.due_at = fields.scheduled_at == k_nil ? now_ : fields.scheduled_at;
    return event;
  }

  Event step(const Id& id, const NaiveJob& job) {
    Event event;
    event.job_id = id;
    event.expected_revision = job.revision;
    event.at = now_;
    if (draw(25) == 0) {
      event.type = EventType::cancelled;
      event.token = job.execution.value_or(0);
    } else if (job.state == "available") {
      event.type = EventType::started;
      event.at = now_ = std::max(now_, *job.eligible_at);
      event.attempt = static_cast<std::uint32_t>(*job.next_attempt);
      event.token = job.cycle;
    } else if (job.state == "executing") {
      finish(event, job);
    } else if (job.state == "discarded" || (job.state == "retryable" && draw(3) == 0)) {
      event.type = EventType::retried;
      event.mode = job.state == "discarded" ? 1 : 0;
      event.due_at = event.at;
    } else {
      event.type = EventType::available;
      event.due_at = job.eligible_at.value_or(now_);
      event.at = now_ = std::max(now_, event.due_at);
    }
    return event;
  }

  void finish(Event& event, const NaiveJob& job) {
    constexpr std::uint8_t k_failures[] = {1, 2, 3, 4, 6};
    event.type = EventType::finished;
    event.token = *job.execution;
    event.outcome = static_cast<std::uint8_t>(draw(3));
    const bool again = event.outcome == 3 || (event.outcome != 0 && job.attempt < job.max_attempts);
    event.disposition = event.outcome == 0 ? 0 : again ? 1 : 2;
    event.diagnostic = event.outcome == 0   ? 0
                       : event.outcome == 1 ? k_failures[draw(4)]
                       : event.outcome == 2 ? 5
                                            : 7;
    if (again) {
      event.attempt = static_cast<std::uint32_t>(job.attempt + (event.outcome == 3 ? 0 : 1));
      const std::uint64_t delay =
          job.attempt >= 7 ? 60'000 : std::uint64_t{1000} << (job.attempt - 1);
      event.due_at = event.at + delay + draw(job.attempt >= 7 ? 0 : delay / 4);
    }
  }

  // One field is off; mostly that makes the event illegal.
  void spoil(Event& event) {
    switch (draw(5)) {
      case 0:
        if (event.type != EventType::inserted) event.expected_revision += 1;
        break;
      case 1:
        if (event.token != 0) event.token += 1;
        break;
      case 2:
        if (event.type == EventType::started) event.attempt += 1;
        break;
      case 3:
        if (event.type == EventType::finished && event.due_at != k_nil) event.due_at += 10'001;
        break;
      case 4:
        if (event.type == EventType::started) event.at -= std::min<std::uint64_t>(event.at, 5000);
        break;
      default:
        if (event.type == EventType::retried) event.mode ^= 1;
        break;
    }
  }

  std::mt19937_64 random_;
  std::uint64_t now_ = 1'700'000'000'000;
  std::vector<Id> ids_;
  Bytes definition_;
};

}  // namespace varve::tay::test
