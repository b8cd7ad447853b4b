// SPDX-License-Identifier: MIT OR Apache-2.0
// The columns of both faces, and their rows as JSON Lines.
#pragma once

#include <cstddef>
#include <string>

#include "varve/scan.hpp"

namespace varve::tay {

// Columns of the log.
enum LogColumn : std::size_t {
  k_log_seq,
  k_log_type,     // the event's name, or the type as digits
  k_log_schema,   // of the payload
  k_log_job_id,   // 32 hex digits; null if the payload does not decode
  k_log_time,     // the event's `at`; null likewise (and where microseconds cannot hold it)
  k_log_payload,  // the bytes as they stand
  k_log_segment,
  k_log_offset,
  k_log_length,
};
const Schema& log_schema();

// Columns of the state: one row a job.
enum StateColumn : std::size_t {
  k_state_job_id,
  k_state_state,
  k_state_revision,
  k_state_attempt,
  k_state_next_attempt,
  k_state_cycle_token,
  k_state_execution_token,
  k_state_eligible_at,
  k_state_available_sequence,
  k_state_inserted_at,
  k_state_attempted_at,
  k_state_completed_at,
  k_state_diagnostic_code,
  k_state_worker_key,
  k_state_queue_key,
  k_state_max_attempts,
  k_state_timeout_ms,
  k_state_scheduled_at,
  k_state_definition,
  k_state_args,
  k_state_charge_bytes,
  k_state_charge_nodes,
};
const Schema& state_schema();

void render_log(const Batch& batch, const RenderOptions& options, std::string& out);
void render_state(const Batch& batch, const RenderOptions& options, std::string& out);

}  // namespace varve::tay
