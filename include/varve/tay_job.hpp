// SPDX-License-Identifier: MIT OR Apache-2.0
// Jobs of a Tay store as a program sees them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace varve::tay {

using JobId = std::array<std::byte, 16>;  // never all zeros

enum class JobState : std::uint8_t {
  scheduled,
  available,
  executing,
  retryable,
  completed,
  discarded,
  cancelled,
};
inline constexpr std::size_t k_job_states = 7;
std::string_view to_text(JobState state);  // "scheduled"...

// How a run ended (Tay specification, section 14.2).
enum class Outcome : std::uint8_t {
  success = 0,
  worker_failure = 1,
  timeout = 2,
  interrupted = 3,  // by the loss of the machine or process, not by the worker
};

// What a worker failure was.
enum class Failure : std::uint8_t {
  returned_error = 1,
  raised = 2,
  threw = 3,
  died = 4,
  returned_something_else = 6,
};

// What a job is to do. Two definitions are the same if all of it is the same.
struct JobDefinition {
  std::string worker_key;  // 1..255 bytes of UTF-8 without U+0000, as is the queue's key
  std::string queue_key = "default";
  // A JSON object. Integers are -2^63..2^64-1, other numbers finite doubles, and differ from each
  // other.
  std::string args_json = "{}";
  std::uint32_t max_attempts = 10;               // 1..65535
  std::uint32_t timeout_ms = 30'000;             // 1..86400000; for the worker to keep to
  std::optional<std::uint64_t> scheduled_at_ms;  // since 1970; not to start before
};

struct JobInfo {
  JobId id{};
  JobState state = JobState::scheduled;
  JobDefinition definition;
  std::uint64_t revision = 0;  // sequence of the record that changed it last
  std::uint32_t attempt = 0;   // of the latest run; 0 if there was none
  std::optional<std::uint32_t> next_attempt;
  std::uint64_t cycle = 0;                       // sequence of its insertion or last renewal
  std::optional<std::uint64_t> execution;        // names the run that goes on
  std::optional<std::uint64_t> eligible_at_ms;   // when it may start, or become available
  std::optional<std::uint64_t> available_order;  // sequence at which it became available
  std::uint64_t inserted_at_ms = 0;
  std::optional<std::uint64_t> attempted_at_ms;
  std::optional<std::uint64_t> completed_at_ms;
  // Code of section 14.2 for the last run that did not succeed: a Failure, 5 for a timeout, 7 for
  // an interruption.
  std::optional<std::uint8_t> diagnostic;
};

}  // namespace varve::tay
