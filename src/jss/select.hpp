// SPDX-License-Identifier: MIT OR Apache-2.0
// Which segments and blocks can hold rows that a request asks for (section 12): no false
// negatives, possible false positives; the exact filter follows after decoding.
#pragma once

#include <cstdint>
#include <vector>

#include "jss/archive.hpp"
#include "jss/filter.hpp"
#include "varve/scan.hpp"

namespace varve::jss {

// What a request asks of rows, compiled.
struct RowQuery {
  RowFilter filter;
  std::optional<std::uint64_t> seq_first;  // inclusive
  std::optional<std::uint64_t> seq_last;   // inclusive
  std::optional<std::int64_t> since_us;    // inclusive, of witnessed_at
  std::optional<std::int64_t> until_us;    // exclusive

  // ErrorCode::invalid_argument if a term is unknown or its value is not valid.
  static Result<RowQuery> compile(const Predicate& predicate);
  bool wants(std::uint64_t seq, std::int64_t witnessed_at, std::uint8_t kind, std::string_view did,
             std::string_view collection) const {
    return !(seq_first && seq < *seq_first) && !(seq_last && seq > *seq_last) &&
           !(since_us && witnessed_at < *since_us) && !(until_us && witnessed_at >= *until_us) &&
           filter.wants(kind, did, collection);
  }
  bool takes_all() const {
    return filter.empty() && !seq_first && !seq_last && !since_us && !until_us;
  }
};

// Why something need not be read; also the words of `cat --plan`.
enum class SkipReason : std::uint8_t { none, empty, seq, time, names, bloom };
std::string_view to_text(SkipReason reason);

// Whether the header of a sealed segment excludes it. Only to be believed once the metadata
// checksum holds.
SkipReason skip_by_header(const Header& header, const RowQuery& query);

struct BlockSelection {
  std::vector<std::uint32_t> blocks;  // ascending
  std::uint64_t skipped_empty = 0;
  std::uint64_t skipped_by_seq = 0;
  std::uint64_t skipped_by_time = 0;
  std::uint64_t skipped_by_names = 0;
  std::uint64_t skipped_by_bloom = 0;
  bool segment_bloom_denies = false;  // then no block is selected
};

// The blocks of a trusted segment that a query must read.
Result<BlockSelection> select_blocks(const OpenSegment& segment, const RowQuery& query);

}  // namespace varve::jss
