// SPDX-License-Identifier: MIT OR Apache-2.0
// Budgets of a Tay store's recovery and settings of its writer. None of them is on disk.
#pragma once

#include <cstdint>
#include <limits>

namespace varve::tay {

inline constexpr std::uint64_t k_no_limit = std::numeric_limits<std::uint64_t>::max();

// What decoding one event payload may cost (Tay specification, section 13).
struct EventBudget {
  std::uint64_t depth = 64;          // limit `depth`
  std::uint64_t nodes = 100'000;     // limit `output_nodes`
  std::uint64_t bytes = 16'777'216;  // limit `binary_bytes`: texts and opaque bytes, keys too
};

// Section 16. Reaching one is `resource_limit`: no statement about the bytes, which may be looked
// at again with a larger one.
struct Budgets {
  std::uint32_t payload_bytes = 16'777'216;  // a record's payload; 0..16777216
  EventBudget event;
  std::uint64_t directory_entries = 100'000;       // entries of one directory
  std::uint64_t total_segment_bytes = k_no_limit;  // of all canonical segments
  std::uint64_t replay_records = k_no_limit;       // 0 allows only an empty store
  std::uint64_t recovery_deadline_ms = 900'000;
  std::uint64_t activation_deadline_ms = 900'000;
  std::uint64_t activation_window_ms = 30'000;  // how long a recovered store may wait for activate
  // What the replayed jobs may be charged, in sum.
  std::uint64_t retained_jobs = 100'000;
  std::uint64_t retained_bytes = 268'435'456;
  std::uint64_t retained_nodes = 2'000'000;
};

// When an append is acknowledged (section 10).
enum class Durability : std::uint8_t {
  sync,   // after the file was synced
  write,  // after a verified write: for development
};

// New insertions only (section 16); never above the replay budgets.
struct InsertionLimits {
  std::uint32_t payload_bytes = 1'048'576;
  std::uint32_t args_bytes = 262'144;  // encoded
  std::uint64_t depth = 32;
  std::uint64_t nodes = 10'000;
  // Optional caps on the history; each executing job reserves 1132 bytes of the first.
  std::uint64_t history_bytes = k_no_limit;
  std::uint64_t history_segments = k_no_limit;
};

}  // namespace varve::tay
