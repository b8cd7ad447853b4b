// SPDX-License-Identifier: MIT OR Apache-2.0
// Between definitions and jobs as a program sees them and as they are stored.
#include <utility>

#include "tay/job_engine.hpp"
#include "tay/value_json.hpp"

namespace varve::tay {

namespace {

std::optional<std::uint64_t> time_of(std::uint64_t time) {
  return time == k_nil ? std::nullopt : std::optional(time);
}

template <class T>
std::optional<T> unless_zero(T value) {
  return value == 0 ? std::nullopt : std::optional(value);
}

std::unexpected<Error> bad_definition(std::string message) {
  return fail(ErrorCode::invalid_argument, "invalid_definition", std::move(message));
}

}  // namespace

Result<Bytes> encode_job_definition(const JobDefinition& definition) {
  Bytes args;
  if (auto encoded = encode_json(definition.args_json, false, args); !encoded) {
    return bad_definition("args: " + encoded.error().message);
  }
  if (!is_key(definition.worker_key) || !is_key(definition.queue_key)) {
    return bad_definition("a worker's or queue's key is 1..255 bytes of UTF-8 without U+0000");
  }
  DefinitionFields fields;
  fields.args = args;
  fields.worker_key = definition.worker_key;
  fields.queue_key = definition.queue_key;
  fields.max_attempts = definition.max_attempts;
  fields.timeout_ms = definition.timeout_ms;
  fields.scheduled_at = definition.scheduled_at_ms.value_or(k_nil);
  Bytes out;
  encode_definition(fields, out);
  if (!decode_definition(out, {k_u64_max, k_u64_max, k_u64_max})) {
    return bad_definition(
        "args must be an object, max_attempts 1..65535, timeout_ms 1..86400000, scheduled_at at "
        "most 2^63-1");
  }
  return out;
}

JobInfo job_info(const JobTable& jobs, const Job& job) {
  JobInfo out;
  out.id = job.id;
  out.state = job.state;
  const auto definition =
      decode_definition(jobs.definition(job), {k_u64_max, k_u64_max, k_u64_max});
  out.definition.worker_key = jobs.text(job.worker);
  out.definition.queue_key = jobs.text(job.queue);
  out.definition.args_json = value_json(definition->args);
  out.definition.max_attempts = job.max_attempts;
  out.definition.timeout_ms = definition->timeout_ms;
  out.definition.scheduled_at_ms = time_of(definition->scheduled_at);
  out.revision = job.revision;
  out.attempt = job.attempt;
  out.next_attempt = unless_zero(job.next_attempt);
  out.cycle = job.cycle;
  out.execution = unless_zero(job.execution);
  out.eligible_at_ms = time_of(job.eligible_at);
  out.available_order = unless_zero(job.available_sequence);
  out.inserted_at_ms = job.inserted_at;
  out.attempted_at_ms = time_of(job.attempted_at);
  out.completed_at_ms = time_of(job.completed_at);
  out.diagnostic = unless_zero(job.diagnostic);
  return out;
}

}  // namespace varve::tay
