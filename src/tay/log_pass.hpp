// SPDX-License-Identifier: MIT OR Apache-2.0
// The pass over all segments in log order (sections 6 and 8). The same code serves the strict
// recovery, which stops at the first fault, and the report, which goes on wherever the next unit is
// certain. Pieces of segments are walked side by side: a worker that starts in the middle searches
// for a plausible header, and its result counts only if the walk before it arrives exactly there.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tay/discovery.hpp"
#include "tay/objects.hpp"
#include "tay/walker.hpp"
#include "varve/file_system.hpp"
#include "varve/tay_options.hpp"
#include "varve/tay_refusal.hpp"

namespace varve::tay {

// A run of proven records, as a later pass finds it again.
struct LogRun {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t first_sequence = 0;
  std::uint64_t count = 0;
  std::uint32_t crc = 0;  // over [begin, end)
};

// One segment to walk, and what was found there.
struct Segment {
  std::uint64_t id = 0;
  std::string name;                     // in its directory
  io::FileIdentity identity;            // as listed; the size is the horizon
  std::optional<SegmentHeader> header;  // if it is whole and sound
  std::optional<SegmentFooter> footer;  // likewise
  bool sealed = false;
  bool hurt = false;          // something in it was refused
  std::uint64_t end = 0;      // behind the last unit that was understood
  std::uint64_t records = 0;  // proven
  std::uint64_t last_sequence = 0;
  std::uint32_t crc = 0;  // over [0, end of the last record), while not hurt
  std::vector<LogRun> runs;

  std::uint64_t bytes() const { return identity.size_bytes; }
};

// What is known of a segment from an earlier pass: the walk begins at `end`.
struct ProvenRun {
  std::uint64_t end = 0;  // behind the last proven record; 0: nothing is known
  std::uint64_t records = 0;
  std::uint64_t last_sequence = 0;
  std::uint32_t crc = 0;  // over [0, end)
};

struct LogTotals {
  std::uint64_t units = 0;    // headers, footers, records
  std::uint64_t records = 0;  // whole or hurt
  std::uint64_t intact = 0;
  std::uint64_t lost = 0;           // known to have been there
  std::uint64_t unknown = 0;        // an unfinished last unit
  std::uint64_t bytes = 0;          // looked at
  std::uint64_t next_sequence = 1;  // behind the last record; 0 if that was the last there can be
};

enum class Policy : std::uint8_t { strict, report, quick };

struct LogPassOptions {
  Policy policy = Policy::strict;
  // Store v1: the segments' owner; unset if STORE could not be read. Then the first sound header
  // decides.
  std::optional<Id> store_id;
  // Whether the log begins with sequence 1 in the first segment given.
  bool from_start = true;
  bool has_highest = true;      // the last segment given is the highest of the store
  bool live = false;            // another process may be appending
  bool writer_present = false;  // and one seems to: worth waiting a moment for its write
  unsigned threads = 1;
  std::uint32_t payload_budget = k_max_payload_bytes;
  std::uint64_t record_budget = k_no_limit;
  std::uint64_t piece_bytes = std::uint64_t{1} << 20;
  std::string file_prefix = "segments/";  // of names in refusals
  // By segment; empty, or one each. Runs of a segment then lack what was proven before.
  std::vector<ProvenRun> proven;
  // Called now and then; a returned refusal (a deadline) stops the pass.
  std::function<std::optional<Refusal>()> tick;
  std::function<void(std::uint64_t bytes_done)> progress;
  // Takes each refusal as soon as all is known about it; without it they are collected.
  std::function<void(Refusal refusal)> refused;
  // Makes what takes a run's records, for the segment with this index; may be empty.
  std::function<std::unique_ptr<RecordCollector>(std::size_t segment)> make_collector;
  // Takes each run in log order with its collector; false ends the pass.
  std::function<Result<bool>(std::size_t segment, const LogRun& run, RecordCollector* collector)>
      deliver;
};

struct LogPassResult {
  LogTotals totals;
  // In the order of the specification's checks; strict: at most one.
  std::vector<Refusal> refusals;
  bool stopped = false;  // `deliver` or `tick` ended it
};

// Walks `segments` (ascending ids) in `directory` and fills them in. Errors: io, or `locked` with
// reason "changed" where a file is not what was listed.
Result<LogPassResult> run_log_pass(const io::Directory& directory, std::vector<Segment>& segments,
                                   const LogPassOptions& options);

// The segments that a listing names.
std::vector<Segment> segments_of(const Listing& listing);

}  // namespace varve::tay
