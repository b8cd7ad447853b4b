// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/remote_scan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <numeric>
#include <set>
#include <utility>

#include "base/pipeline.hpp"
#include "jss/row_batch.hpp"
#include "model/scan_delivery.hpp"
#include "serve/remote_entries.hpp"
#include "serve/remote_segment.hpp"

namespace varve::serve {

namespace {

// Blocks that are fetched or decoded at a time; section 17.5 allows 64.
constexpr unsigned k_blocks_at_once = 16;
// A server that is gone is not asked for everything that is left.
constexpr unsigned k_most_failures_in_a_row = 3;
// The planner's limits of section 17.4: a request above them is asked without that filter.
constexpr std::size_t k_most_dids = 10'000;
constexpr std::size_t k_most_collections = 100;

using Label = std::shared_ptr<const Dictionary>;

// One block on its way, or only findings at their place in the order.
struct Task {
  std::vector<Finding> before;
  std::string segment;
  std::shared_ptr<RemoteSegmentReader> reader;  // null: the block comes by getBlock, or not at all
  bool has_block = false;
  std::uint32_t block = 0;
  Label label;
  // What the work makes of it.
  std::optional<Error> error;
  std::optional<Finding> fault;
  Batch batch;
};

// Errors that concern one entry; every other one ends the scan.
Finding unread(const Task& task, const std::string& file, const Error& error) {
  Finding finding = jss::make_finding("remote-read", "", file, error.offset, 0,
                                      task.has_block ? "block" : "segment", error.text());
  finding.verdict = Verdict::unknown;
  if (task.has_block) {
    finding.index = task.block;
  }
  return finding;
}

// Turns entries into tasks, in order.
class TaskSource {
 public:
  TaskSource(const RemoteScanSource& source, const jss::RowQuery& query, const ScanRequest& request,
             RemoteEntries& entries)
      : source_(source), query_(query), request_(request), entries_(entries) {
    walk_.policy = request.strict ? jss::WalkPolicy::strict : jss::WalkPolicy::report;
    walk_.max_memory_bytes = request.max_memory_bytes;
  }

  std::optional<Task> next() {
    while (!error_) {
      if (position_ < blocks_.size()) {
        return block_task(blocks_[position_++]);
      }
      if (run_ < entry_.blocks.size()) {
        const auto& run = entry_.blocks[run_++];
        blocks_.resize(run.last - run.first + 1);
        std::iota(blocks_.begin(), blocks_.end(), run.first);
        position_ = 0;
        continue;
      }
      if (reader_ != nullptr) {
        if (auto last = end_of_segment()) {
          return last;
        }
      }
      auto entry = entries_.next();
      if (!entry) {
        error_ = std::move(entry).error();
      } else if (!*entry) {
        return std::nullopt;
      } else if (auto task = begin(**std::move(entry))) {
        return task;
      }
    }
    return std::nullopt;
  }

  const std::optional<Error>& error() const { return error_; }

 private:
  std::optional<Task> begin(RemoteEntry entry) {
    entry_ = std::move(entry);
    run_ = 0;
    position_ = 0;
    blocks_.clear();
    auto label = std::make_shared<Dictionary>();
    label->add(entry_.segment);
    label_ = std::move(label);
    if (!entry_.blocks.empty()) {
      return std::nullopt;
    }
    auto opened = open_segment();
    if (!opened) {
      Task task;
      task.segment = entry_.segment;
      task.error = std::move(opened).error();
      return task;
    }
    const auto& findings = reader_->first().segment->findings;
    if (findings.empty()) {
      return std::nullopt;
    }
    Task task;
    task.before = findings;
    return task;
  }

  Result<void> open_segment() {
    VARVE_ASSIGN(reader_, RemoteSegmentReader::open(*source_.files, entry_.segment,
                                                    source_.single ? "" : entry_.segment, walk_));
    const OpenGeneration& opened = reader_->first();
    if (opened.segment->trusted()) {
      auto selection = jss::select_blocks(*opened.segment, query_);
      if (!selection) {
        reader_.reset();
        return std::unexpected(std::move(selection).error());
      }
      blocks_ = std::move(selection->blocks);
    } else {
      blocks_.resize(opened.walk.frames.size());
      std::iota(blocks_.begin(), blocks_.end(), 0U);
    }
    if (request_.reverse) {
      std::ranges::reverse(blocks_);
    }
    return {};
  }

  Task block_task(std::uint32_t block) {
    Task task;
    task.segment = entry_.segment;
    task.reader = reader_;
    task.has_block = true;
    task.block = block;
    task.label = label_;
    if (reader_ == nullptr) {
      return task;
    }
    const OpenGeneration& opened = reader_->first();
    const auto& gaps = opened.walk.gaps;
    const auto gap = std::ranges::lower_bound(gaps, block, {}, &jss::WalkGap::before_frame);
    if (gap != gaps.end() && gap->before_frame == block) {
      task.before.push_back(jss::gap_finding(*opened.segment->file, *gap));
    }
    if (opened.walk.frames[block].prefix_differs()) {
      task.before.push_back(
          jss::prefix_finding(*opened.segment->file, opened.walk.frames[block], block));
    }
    return task;
  }

  std::optional<Task> end_of_segment() {
    const auto reader = std::move(reader_);
    const jss::SegmentWalk& walk = reader->first().walk;
    const jss::SegmentFile& file = *reader->first().segment->file;
    Task task;
    if (!walk.gaps.empty() && walk.gaps.back().before_frame == walk.frames.size()) {
      task.before.push_back(jss::gap_finding(file, walk.gaps.back()));
    }
    if (walk.too_many) {
      task.before.push_back(jss::too_many_finding(file, walk));
    }
    if (walk.tail != jss::TailState::whole) {
      task.before.push_back(jss::tail_finding(file, walk));
    }
    return task.before.empty() ? std::nullopt : std::optional(std::move(task));
  }

  const RemoteScanSource& source_;
  const jss::RowQuery& query_;
  const ScanRequest& request_;
  RemoteEntries& entries_;
  jss::WalkOptions walk_;
  RemoteEntry entry_;
  std::size_t run_ = 0;  // of entry_.blocks
  std::shared_ptr<RemoteSegmentReader> reader_;
  Label label_;
  std::vector<std::uint32_t> blocks_;
  std::size_t position_ = 0;
  std::optional<Error> error_;
};

// What the workers and the ordered end share.
class RemoteScan {
 public:
  RemoteScan(const RemoteScanSource& source, const jss::RowQuery& query, const ScanRequest& request,
             const jss::Projection& projection, BatchSink& sink, FindingSink& findings,
             unsigned workers)
      : source_(source),
        query_(query),
        request_(request),
        projection_(projection),
        decoders_(workers),
        delivery_(request, sink, findings, summary_) {
    for (unsigned i = 0; i < workers; ++i) {
      readers_.emplace_back(request.max_memory_bytes);
    }
  }

  // On a worker.
  void work(Task& task, unsigned worker) {
    if (!task.has_block || task.error) {
      return;
    }
    std::shared_ptr<jss::BatchMemory> memory = pool_.take();
    auto fault = task.reader != nullptr
                     ? task.reader->read(readers_[worker], task.block, memory->block)
                     : fetch_block(task, decoders_[worker], memory->block);
    task.reader.reset();
    if (!fault) {
      task.error = std::move(fault).error();
      return;
    }
    if (*fault) {
      task.fault = *std::move(fault);
      return;
    }
    memory->segment_label = task.label;
    jss::BatchRequest request;
    request.projection = &projection_;
    request.block = task.block;
    request.reverse = request_.reverse;
    request.selected = jss::select_rows(query_, *memory);
    task.batch = jss::make_batch(std::move(memory), request);
    if (request_.mapper != nullptr && task.batch.rows != 0) {
      request_.mapper->map(task.batch);
    }
  }

  // In order. False stops the scan.
  bool consume(Task& task) {
    for (Finding& finding : task.before) {
      if (!delivery_.tell(std::move(finding))) {
        return false;
      }
    }
    if (task.error) {
      return tell_unread(task);
    }
    failures_in_a_row_ = 0;
    if (task.fault) {
      return delivery_.tell(*std::move(task.fault));
    }
    auto more = delivery_.deliver(std::move(task.batch));
    if (!more) {
      error_ = std::move(more).error();
      return false;
    }
    return *more;
  }

  // The scan's outcome, once the pipeline has ended.
  Result<ScanSummary> outcome() const {
    if (error_) {
      return std::unexpected(*error_);
    }
    if (first_unread_) {
      Error error = *first_unread_;
      if (unread_ > 1) {
        error.message += fmt::format("; so were {} other parts, or what followed", unread_ - 1);
      }
      return std::unexpected(std::move(error));
    }
    return summary_;
  }

 private:
  Result<std::optional<Finding>> fetch_block(const Task& task, jss::FrameDecoder& decoder,
                                             jss::Block& block) {
    VARVE_ASSIGN(const std::string frame, source_.files->archive().block(
                                              task.segment, task.block, request_.max_memory_bytes));
    const auto fault =
        decoder.decode(std::as_bytes(std::span(frame)), request_.max_memory_bytes, block);
    if (!fault) {
      return std::optional<Finding>();
    }
    Finding finding = jss::make_finding(
        "Decode", jss::k_stage_decode, task.segment, 0, frame.size(), "block",
        fmt::format("the block that the server sent does not decode: {}", fault->word));
    finding.index = task.block;
    finding.expected = fault->expected;
    finding.actual = fault->actual;
    if (std::string_view(fault->word) == jss::k_frame_over_cap &&
        request_.max_memory_bytes < jss::k_max_body_bytes) {
      finding.code = "limit";
      finding.verdict = Verdict::unknown;
      finding.message = "the block is larger than the memory limit";
    }
    return std::optional(std::move(finding));
  }

  bool tell_unread(const Task& task) {
    ++unread_;
    if (!first_unread_) {
      first_unread_ = task.error;
    }
    const std::string file = source_.single ? std::string() : task.segment;
    return delivery_.tell(unread(task, file, *task.error)) &&
           ++failures_in_a_row_ < k_most_failures_in_a_row;
  }

  const RemoteScanSource& source_;
  const jss::RowQuery& query_;
  const ScanRequest& request_;
  const jss::Projection& projection_;
  jss::BatchPool pool_;
  std::deque<jss::BlockReader> readers_;    // one a worker
  std::deque<jss::FrameDecoder> decoders_;  // one a worker
  std::optional<Error> error_;
  std::optional<Error> first_unread_;
  std::uint64_t unread_ = 0;
  unsigned failures_in_a_row_ = 0;
  ScanSummary summary_;
  model::ScanDelivery delivery_;
};

}  // namespace

std::optional<jss::SnapshotRequest> plan_request_of(const Predicate& predicate) {
  jss::SnapshotRequest out;
  std::set<std::string> kinds;
  std::set<std::string> dids;
  std::set<std::string> collections;
  for (const FilterTerm& term : predicate.terms) {
    if (term.name == "did") {
      dids.insert(term.value);
    } else if (term.name == "collection") {
      collections.insert(term.value);
    } else if (term.name == "kind") {
      // The protocol knows the public kinds alone.
      const auto mask = jss::kinds_of_name(term.value);
      kinds.insert(mask && (*mask & jss::k_commit_kinds) != 0 ? "commit" : term.value);
    }
  }
  if (!kinds.empty() && !kinds.contains("commit")) {
    collections.clear();  // they would only concern commits
  }
  if (dids.size() > k_most_dids) {
    dids.clear();
  }
  if (collections.size() > k_most_collections) {
    collections.clear();
  }
  out.kinds.assign(kinds.begin(), kinds.end());
  out.dids.assign(dids.begin(), dids.end());
  out.collections.assign(collections.begin(), collections.end());
  if (predicate.seq_first && *predicate.seq_first > 1 && *predicate.seq_first <= INT64_MAX) {
    out.after_seq = *predicate.seq_first - 1;
  }
  if (predicate.seq_last && *predicate.seq_last <= INT64_MAX && *predicate.seq_last > 0) {
    out.before_seq = predicate.seq_last;
  }
  const bool nothing =
      kinds.empty() && dids.empty() && collections.empty() && !out.after_seq && !out.before_seq;
  return nothing ? std::nullopt : std::optional(std::move(out));
}

Result<ScanSummary> scan_remote_log(const RemoteScanSource& source, const ScanRequest& request,
                                    BatchSink& sink, FindingSink& findings) {
  VARVE_ASSIGN(const jss::RowQuery query, jss::RowQuery::compile(request.predicate));
  VARVE_ASSIGN(const jss::Projection projection, jss::make_projection(request.columns));
  if (request.limit == 0) {
    return ScanSummary{};
  }
  std::optional<jss::SnapshotRequest> plan;
  if (!request.reverse && !source.single) {
    plan = plan_request_of(request.predicate);
  }
  std::unique_ptr<RemoteEntries> entries;
  if (plan) {
    entries = std::make_unique<PlannedEntries>(source.files->archive(), *std::move(plan));
  } else {
    entries = std::make_unique<ListedEntries>(source.segments, request.reverse);
  }
  const unsigned workers = std::max(base::thread_count(request.threads), k_blocks_at_once);
  TaskSource tasks(source, query, request, *entries);
  RemoteScan scan(source, query, request, projection, sink, findings, workers);
  base::run_ordered_pipeline<Task>(
      workers, workers, [&] { return tasks.next(); },
      [&](Task& task, unsigned worker) { scan.work(task, worker); },
      [&](Task& task) { return scan.consume(task); });
  VARVE_ASSIGN(const ScanSummary summary, scan.outcome());
  if (tasks.error()) {
    return std::unexpected(*tasks.error());
  }
  return summary;
}

}  // namespace varve::serve
