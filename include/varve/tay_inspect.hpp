// SPDX-License-Identifier: MIT OR Apache-2.0
// Offline inspection of a Tay store (Tay specification, sections 12 and 17): the whole recovery
// short of activation, under the store's lock. It changes nothing, returns no jobs, and gives no
// right to write.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include "varve/file_system.hpp"
#include "varve/json.hpp"
#include "varve/tay_options.hpp"
#include "varve/tay_refusal.hpp"

namespace varve::tay {

struct Inspection {
  std::array<std::byte, 16> store_id{};
  std::uint64_t record_count = 0;
  std::uint64_t segment_count = 0;
  std::uint64_t total_segment_bytes = 0;       // headers and footers included
  std::optional<std::uint64_t> next_sequence;  // unset: exhausted
  std::uint64_t staging_count = 0;             // over both directories
  std::uint64_t ignored_count = 0;
  std::uint64_t jobs = 0;
  // scheduled, available, executing, retryable, completed, discarded, cancelled
  std::array<std::uint64_t, 7> states{};
  std::uint64_t state_bytes_charged = 0;
  std::uint64_t state_nodes_charged = 0;
};

// The fields of section 17, `state` and `scope` first.
Json to_json(const Inspection& inspection);

struct InspectOptions {
  Budgets budgets;
  unsigned threads = 1;                    // 0: all cores
  io::Environment* environment = nullptr;  // for the deadline; null: the system's
};

// Takes the lock, looks at everything, releases the lock.
std::expected<Inspection, Refusal> inspect(io::FileSystem& files, const std::string& path,
                                           const InspectOptions& options = {});

}  // namespace varve::tay
