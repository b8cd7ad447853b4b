// SPDX-License-Identifier: MIT OR Apache-2.0
// The log as rows: decoding, filters, order.
#pragma once

#include <optional>
#include <vector>

#include "tay/event.hpp"
#include "tay/snapshot.hpp"
#include "varve/scan.hpp"
#include "varve/store.hpp"

namespace varve::tay {

// A predicate on log rows, with its terms understood.
struct LogFilter {
  std::uint64_t seq_first = 0;
  std::uint64_t seq_last = k_u64_max;
  std::optional<std::int64_t> since_us;
  std::optional<std::int64_t> until_us;
  std::vector<std::uint8_t> types;
  std::vector<Id> jobs;

  bool needs_event() const { return since_us || until_us || !jobs.empty(); }
  bool takes_header(std::uint64_t sequence, std::uint8_t type) const;
  // `event` is null where the payload does not decode.
  bool takes_event(const Event* event) const;
};
// Errors: invalid_argument for a type or id that cannot be.
Result<LogFilter> log_filter(const Predicate& predicate);

// 32 hex digits to an id.
std::optional<Id> parse_id(std::string_view digits);

// `at` in microseconds; nullopt where they do not fit into 64 bits.
std::optional<std::int64_t> time_us(std::uint64_t time_ms);

// The segments [first, last) that may hold rows of the filter, by the first sequences in their
// headers. All of them where a header is not sound.
struct SegmentRange {
  std::size_t first = 0;
  std::size_t last = 0;
};
Result<SegmentRange> segments_for(const Snapshot& snapshot, const LogFilter& filter);

Result<ScanSummary> scan_log(const Snapshot& snapshot, const ScanRequest& request,
                             const Budgets& budgets, BatchSink& sink, FindingSink& findings);

}  // namespace varve::tay
