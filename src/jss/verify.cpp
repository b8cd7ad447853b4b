// SPDX-License-Identifier: MIT OR Apache-2.0
// `verify`: opening checks, every block, deep verification, the tail, and how the segments of an
// archive follow each other.
#include <algorithm>
#include <deque>
#include <string>
#include <utility>

#include "base/pipeline.hpp"
#include "jss/block_reader.hpp"
#include "jss/deep_verify.hpp"
#include "jss/view.hpp"
#include "jss/walker.hpp"
#include "model/receipt_work.hpp"
#include "model/verdict_sink.hpp"

namespace varve::jss {

namespace {

// What a verified member tells the archive.
struct MemberSummary {
  bool has_rows = false;
  std::uint64_t min_seq = 0;
  std::uint64_t max_seq = 0;
  bool active = false;
};

struct Progress {
  const VerifyRequest& request;
  std::uint64_t total_bytes;
  std::uint64_t done_bytes = 0;
  void add(std::uint64_t bytes) {
    done_bytes += bytes;
    if (request.progress) {
      request.progress(done_bytes, total_bytes);
    }
  }
};

// Checks one member.
class MemberVerifier {
 public:
  MemberVerifier(const OpenSegment& segment, const VerifyRequest& request,
                 const OpenOptions& options, VerifyReport& report, FindingSink& findings,
                 Progress& progress)
      : segment_(segment),
        request_(request),
        max_memory_(options.max_memory_bytes),
        report_(report),
        findings_(findings),
        progress_(progress),
        deep_(segment, options.max_memory_bytes) {}

  Result<MemberSummary> run() {
    for (const Finding& finding : segment_.findings) {
      findings_.add(finding);
    }
    count_metadata();
    if (segment_.head.fault && segment_.head.fault->verdict == Verdict::unknown) {
      return summary();
    }
    VARVE_ASSIGN(walk_, walk_segment(*segment_.file, segment_.head, segment_.footer.get(),
                                     {WalkPolicy::report, max_memory_}));
    report_.counts.units += walk_.frames.size();
    if (request_.quick) {
      take_counts_from_header();
      tell_damaged_places();
    } else {
      VARVE_TRY(check_blocks());
      deep_.finish(findings_);
    }
    tell_end();
    return summary();
  }

 private:
  struct Task {
    std::uint32_t index = 0;
    std::optional<Error> error;
    std::optional<Finding> fault;
    BlockCheck check;
  };
  struct Worker {
    explicit Worker(std::uint64_t max_memory_bytes) : reader(max_memory_bytes) {}
    BlockReader reader;
    Block block;
    DeepVerifier::Scratch scratch;
  };

  void count_metadata() {
    report_.counts.files += 1;
    report_.counts.segments += 1;
    std::uint64_t bytes = segment_.head.raw_bytes;
    if (segment_.footer) {
      bytes = segment_.footer->bytes_checked;
      report_.counts.units += 1;  // header and footer are one unit: one checksum covers them
      if (segment_.footer->did_bloom) {
        report_.counts.units += 1;
      }
      if (segment_.footer->bloom_region_holds) {
        report_.counts.units += segment_.head.header.block_count;
      }
    }
    report_.counts.bytes += bytes;
    progress_.add(bytes);
  }

  void take_counts_from_header() {
    if (segment_.trusted()) {
      report_.counts.records += segment_.head.header.event_count;
      report_.intact_records += segment_.head.header.event_count;
    }
  }

  // Gaps and damaged prefixes, where no block is looked at.
  void tell_damaged_places() {
    for (std::size_t i = 0; i < walk_.frames.size(); ++i) {
      tell_before(i);
    }
  }
  void tell_before(std::size_t index) {
    const auto gap = std::ranges::lower_bound(walk_.gaps, index, {}, &WalkGap::before_frame);
    if (gap != walk_.gaps.end() && gap->before_frame == index) {
      findings_.add(gap_finding(*segment_.file, *gap));
      deep_.miss();
    }
    if (index < walk_.frames.size() && walk_.frames[index].prefix_differs()) {
      findings_.add(prefix_finding(*segment_.file, walk_.frames[index], index));
    }
  }

  Result<void> check_blocks() {
    const unsigned threads = base::thread_count(request_.threads);
    std::deque<Worker> workers;
    for (unsigned i = 0; i < threads; ++i) {
      workers.emplace_back(max_memory_);
    }
    std::uint32_t next = 0;
    std::optional<Error> error;
    base::run_ordered_pipeline<Task>(
        threads, 2 * threads,
        [&]() -> std::optional<Task> {
          if (next == walk_.frames.size()) {
            return std::nullopt;
          }
          Task task;
          task.index = next++;
          return task;
        },
        [&](Task& task, unsigned worker) { check_block(task, workers[worker]); },
        [&](Task& task) {
          if (task.error) {
            error = std::move(task.error);
            return false;
          }
          take(task);
          return true;
        });
    if (error) {
      return std::unexpected(*std::move(error));
    }
    return {};
  }

  void check_block(Task& task, Worker& worker) const {
    const FrameRef& frame = walk_.frames[task.index];
    auto fault = worker.reader.read(segment_, frame, task.index, worker.block);
    if (!fault) {
      task.error = std::move(fault).error();
      return;
    }
    task.fault = *std::move(fault);
    if (task.fault) {
      return;
    }
    auto check =
        deep_.check(frame, task.index, worker.block, worker.reader.frame(), worker.scratch);
    if (!check) {
      task.error = std::move(check).error();
      return;
    }
    task.check = *std::move(check);
  }

  void take(Task& task) {
    tell_before(task.index);
    const std::uint64_t bytes = walk_.frames[task.index].end() - walk_.frames[task.index].offset;
    report_.counts.bytes += bytes;
    progress_.add(bytes);
    if (task.fault) {
      deep_.miss();
      if (segment_.trusted()) {
        // A trusted index says how many rows were there.
        const std::uint64_t rows = segment_.entry(task.index).event_count;
        report_.counts.records += rows;
        (task.fault->verdict == Verdict::damaged ? report_.lost_records
                                                 : report_.unknown_records) += rows;
      }
      findings_.add(*std::move(task.fault));
      return;
    }
    report_.counts.records += task.check.rows;
    report_.intact_records += task.check.rows;
    deep_.add(task.index, task.check, findings_);
  }

  void tell_end() {
    tell_before(walk_.frames.size());
    if (walk_.too_many) {
      findings_.add(too_many_finding(*segment_.file, walk_));
    }
    if (walk_.tail != TailState::whole) {
      findings_.add(tail_finding(*segment_.file, walk_));
      const std::uint64_t bytes = segment_.file->size() - walk_.frames_end;
      report_.counts.bytes += bytes;
      report_.counts.units += 1;
      progress_.add(bytes);
      // The frame that was being written held a row at least; how many, its bytes do not say.
      report_.unknown_records += walk_.tail == TailState::torn ? 1 : 0;
    }
  }

  MemberSummary summary() const {
    MemberSummary out;
    out.active = segment_.head.state == SegmentState::active;
    if (segment_.trusted() && segment_.head.header.event_count != 0) {
      out = {true, segment_.head.header.min_seq, segment_.head.header.max_seq, false};
    } else if (deep_.has_rows()) {
      out.has_rows = true;
      out.min_seq = deep_.min_seq();
      out.max_seq = deep_.max_seq();
    }
    return out;
  }

  const OpenSegment& segment_;
  const VerifyRequest& request_;
  std::uint64_t max_memory_;
  VerifyReport& report_;
  FindingSink& findings_;
  Progress& progress_;
  DeepVerifier deep_;
  SegmentWalk walk_;
};

// A sealed member that still is what the receipt proves: nothing but its header and its edges is
// read. False if it is to be checked.
Result<bool> take_from_receipt(Archive& archive, std::size_t index, model::ReceiptWork& receipt,
                               VerifyReport& report, MemberSummary& summary) {
  const Member& member = archive.members()[index];
  if (receipt.part(member.name) == nullptr) {
    return false;
  }
  if (member.head.state != SegmentState::sealed) {
    receipt.mismatch(member.name, "it is not a sealed segment any more");
    return false;
  }
  VARVE_ASSIGN(const auto segment, archive.open_file(index));
  VARVE_ASSIGN(const VerifyReceipt::Part* const part,
               receipt.standing_part(segment->file->file(), member.name));
  if (part == nullptr) {
    return false;
  }
  const Header& header = segment->head.header;
  ++report.counts.files;
  ++report.counts.segments;
  report.counts.units += part->number("units");
  report.counts.records += part->number("records");
  report.intact_records += part->number("records");
  receipt.taken(part->proven_bytes);
  receipt.keep_as_is(*part);
  summary = {header.event_count != 0, header.min_seq, header.max_seq, false};
  return true;
}

Result<void> keep_in_receipt(const OpenSegment& segment, const Member& member, const Counts& before,
                             const VerifyReport& report, model::ReceiptWork& receipt) {
  VerifyReceipt::Part part;
  part.file = member.name;
  part.proven_bytes = segment.file->size();
  part.closed = true;
  part.numbers = {{"units", report.counts.units - before.units},
                  {"records", report.counts.records - before.records}};
  return receipt.keep(segment.file->file(), std::move(part));
}

// How the segments of a directory follow each other (sections 1, 15 and 16).
class SuccessionCheck {
 public:
  explicit SuccessionCheck(FindingSink& findings) : findings_(findings) {}

  void add(const Member& member, const MemberSummary& summary) {
    if (last_ != nullptr && *member.number != *last_->number + 1) {
      tell("segment-gap", Severity::warning, member,
           "the archive has no segment between " + last_->label + " and " + member.label,
           *last_->number + 1, *member.number);
    }
    if (last_active_ != nullptr) {
      tell("active-not-last", Severity::warning, *last_active_,
           "an active segment that is not the last one; only the last may be active",
           *member.number, *last_active_->number);
      last_active_ = nullptr;
    }
    if (summary.has_rows) {
      if (last_with_rows_ != nullptr && summary.min_seq <= max_seq_) {
        tell("segment-overlap", Severity::error, member,
             "the segment begins at or below the last seq of " + last_with_rows_->label,
             max_seq_ + 1, summary.min_seq);
      }
      max_seq_ = std::max(max_seq_, summary.max_seq);
      last_with_rows_ = &member;
    }
    last_active_ = summary.active ? &member : nullptr;
    last_ = &member;
  }

 private:
  void tell(const char* code, Severity severity, const Member& member, std::string message,
            std::uint64_t expected, std::uint64_t actual) {
    Finding finding = strict_finding(severity, code, member.name, 0, 0, "segment",
                                     std::move(message), expected, actual);
    findings_.add(std::move(finding));
  }

  FindingSink& findings_;
  const Member* last_ = nullptr;
  const Member* last_active_ = nullptr;
  const Member* last_with_rows_ = nullptr;
  std::uint64_t max_seq_ = 0;
};

}  // namespace

Result<VerifyReport> View::verify(const VerifyRequest& request, FindingSink& findings) {
  VerifyReport report;
  report.path = archive_->path();
  report.format = "jss";
  report.version = k_version;
  model::VerdictSink all(&findings);
  std::uint64_t total = 0;
  for (const Member& member : archive_->members()) {
    total += member.identity.size_bytes;
  }
  Progress progress{request, total};
  for (const Finding& note : archive_->notes()) {
    all.add(note);
  }
  SuccessionCheck succession(all);
  model::ReceiptWork receipt(request, "", options_.options, report, all);
  for (std::size_t i = 0; i < archive_->members().size(); ++i) {
    model::VerdictSink of_member(&all);
    MemberSummary summary;
    VARVE_ASSIGN(const bool taken, take_from_receipt(*archive_, i, receipt, report, summary));
    if (!taken) {
      VARVE_ASSIGN(const auto segment, archive_->open_segment(i, options_.max_memory_bytes));
      const Counts before = report.counts;
      MemberVerifier verifier(*segment, request, options_, report, of_member, progress);
      VARVE_ASSIGN(summary, verifier.run());
      // Only without any finding, or its warnings would not be told again another time.
      if (receipt.making() && segment->head.state == SegmentState::sealed &&
          of_member.count() == 0) {
        VARVE_TRY(keep_in_receipt(*segment, archive_->members()[i], before, report, receipt));
      }
    }
    if (archive_->is_directory()) {
      report.segments.push_back({archive_->members()[i].name, of_member.verdict()});
      succession.add(archive_->members()[i], summary);
    }
  }
  report.verdict = all.verdict();
  receipt.finish();
  return report;
}

}  // namespace varve::jss
