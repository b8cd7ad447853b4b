// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/log_scan.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "tay/examine.hpp"
#include "tay/log_collector.hpp"
#include "tay/refusal.hpp"
#include "tay/replay.hpp"

namespace varve::tay {

namespace {

class LogScan {
 public:
  LogScan(const Snapshot& snapshot, const ScanRequest& request, const Budgets& budgets,
          BatchSink& sink, FindingSink& findings)
      : snapshot_(snapshot),
        request_(request),
        budgets_(budgets),
        sink_(sink),
        findings_(findings),
        meaning_{snapshot.version, budgets.event},
        wanted_(wanted_columns(log_schema(), request.columns)) {}

  Result<ScanSummary> run() {
    VARVE_ASSIGN(filter_, log_filter(request_.predicate));
    for (const Refusal& problem : snapshot_.problems) {
      refuse(problem);
    }
    if ((request_.strict && refused_) || !snapshot_.segments_directory || request_.limit == 0) {
      return summary_;
    }
    VARVE_ASSIGN(const SegmentRange range, segments_for(snapshot_, filter_));
    VARVE_TRY(request_.reverse ? backwards(range) : forwards(range));
    return summary_;
  }

 private:
  void refuse(const Refusal& refusal) {
    if (!std::exchange(refused_, true)) {
      summary_.verdict = refusal.verdict;
    }
    findings_.add(to_finding(refusal));
  }
  // Also asked on workers, where nothing is counted yet unless there is a limit (one thread).
  std::uint64_t rows_left() const {
    return limited() ? request_.limit - summary_.rows : request_.limit;
  }
  bool limited() const { return request_.limit != std::numeric_limits<std::uint64_t>::max(); }

  LogPassOptions pass_options(const SegmentRange& range) {
    // Rows beyond a limit are not to be decoded: one thread takes just as many.
    LogPassOptions options = reading_options(snapshot_, budgets_, limited() ? 1 : request_.threads);
    options.policy = request_.strict ? Policy::strict : Policy::report;
    options.from_start = range.first == 0;
    options.has_highest = range.last == snapshot_.segments.size();
    options.refused = [this](const Refusal& refusal) { refuse(refusal); };
    return options;
  }

  std::vector<Segment> part(const SegmentRange& range) const {
    return {snapshot_.segments.begin() + static_cast<std::ptrdiff_t>(range.first),
            snapshot_.segments.begin() + static_cast<std::ptrdiff_t>(range.last)};
  }

  Result<bool> hand_over(Batch batch) {
    if (batch.rows == 0) {
      return true;
    }
    summary_.rows += batch.rows;
    VARVE_ASSIGN(const bool more, sink_.consume(std::move(batch)));
    return more && rows_left() != 0;
  }

  Result<void> forwards(const SegmentRange& range) {
    std::vector<Segment> segments = part(range);
    LogPassOptions options = pass_options(range);
    options.make_collector = [&](std::size_t segment) {
      return std::make_unique<LogCollector>(filter_, meaning_, segments[segment].id, wanted_,
                                            rows_left(), request_.mapper);
    };
    options.deliver = [&](std::size_t, const LogRun& run,
                          RecordCollector* collector) -> Result<bool> {
      if (run.first_sequence > filter_.seq_last) {
        return false;
      }
      return hand_over(std::move(static_cast<LogCollector*>(collector)->batch()));
    };
    VARVE_TRY(run_log_pass(*snapshot_.segments_directory, segments, options));
    return {};
  }

  // Segment by segment from the newest: proven forwards, delivered backwards.
  Result<void> backwards(const SegmentRange& range) {
    std::uint64_t first_behind = 0;  // of the segment that was read before
    for (std::size_t i = range.last; i-- > range.first;) {
      const SegmentRange one{i, i + 1};
      std::vector<Segment> segments = part(one);
      LogPassOptions options = pass_options(one);
      options.from_start = i == 0;
      VARVE_ASSIGN(const LogPassResult walked,
                   run_log_pass(*snapshot_.segments_directory, segments, options));
      check_seam(segments[0], first_behind, walked.totals.next_sequence);
      if (request_.strict && refused_) {
        return {};
      }
      VARVE_ASSIGN(const bool more, backwards_in(segments[0]));
      if (!more) {
        return {};
      }
      first_behind = segments[0].header ? segments[0].header->first_sequence : 0;
    }
    return {};
  }

  // Section 8 between a segment and the one behind it.
  void check_seam(const Segment& segment, std::uint64_t first_behind, std::uint64_t next) {
    if (first_behind == 0 || first_behind == next || segment.hurt) {
      return;
    }
    Refusal refusal = make_refusal(RefusalKind::continuity, "topology", "first_sequence",
                                   {segment.id + 1, next, first_behind},
                                   "the segment does not begin where the one before ends");
    refusal.physical_kind = "discovery_error";
    refusal.offset = 0;
    refusal.unit = "header";
    refusal.expected = Number::decimal(next);
    refusal.actual = Number::decimal(first_behind);
    refusal.file = snapshot_.segments_prefix + segment_name(segment.id + 1);
    refuse(refusal);
  }

  Result<bool> backwards_in(const Segment& segment) {
    VARVE_ASSIGN(const auto file,
                 snapshot_.segments_directory->open_file(segment.name, io::OpenMode::read));
    Bytes bytes;
    for (std::size_t i = segment.runs.size(); i-- > 0;) {
      const LogRun& run = segment.runs[i];
      VARVE_TRY(read_run(*file, run, bytes));
      std::vector<std::size_t> places;
      for_each_record(bytes, 0, [&](const RecordHeader&, std::uint64_t at, ByteSpan) {
        places.push_back(static_cast<std::size_t>(at));
        return true;
      });
      LogCollector collector(filter_, meaning_, segment.id, wanted_, rows_left(), request_.mapper);
      for (std::size_t k = places.size(); k-- > 0;) {
        const RecordHeader header = load_record_header(bytes.data() + places[k]);
        const ByteSpan payload =
            ByteSpan(bytes).subspan(places[k] + k_record_header_bytes, header.payload_length);
        if (!collector.record(header, run.begin + places[k], payload)) {
          break;
        }
      }
      collector.finish();
      VARVE_ASSIGN(const bool more, hand_over(std::move(collector.batch())));
      if (!more) {
        return false;
      }
    }
    return true;
  }

  const Snapshot& snapshot_;
  const ScanRequest& request_;
  const Budgets& budgets_;
  BatchSink& sink_;
  FindingSink& findings_;
  RecordMeaning meaning_;
  std::vector<bool> wanted_;
  LogFilter filter_;
  ScanSummary summary_;
  bool refused_ = false;
};

}  // namespace

Result<ScanSummary> scan_log(const Snapshot& snapshot, const ScanRequest& request,
                             const Budgets& budgets, BatchSink& sink, FindingSink& findings) {
  return LogScan(snapshot, request, budgets, sink, findings).run();
}

}  // namespace varve::tay
