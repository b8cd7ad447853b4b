// SPDX-License-Identifier: MIT OR Apache-2.0
// The scan of the log: blocks are read, decompressed, decoded, filtered and mapped side by side and
// delivered in order.
#include <algorithm>
#include <deque>
#include <string>
#include <utility>

#include "base/pipeline.hpp"
#include "jss/block_reader.hpp"
#include "jss/row_batch.hpp"
#include "jss/scan_plan.hpp"
#include "jss/view.hpp"
#include "model/scan_delivery.hpp"

namespace varve::jss {

namespace {

// One block on its way through the pipeline, or only findings at their place in the order.
struct Task {
  std::vector<Finding> before;           // to be told before the block
  std::shared_ptr<OpenSegment> segment;  // null if there is no block
  std::size_t member = 0;
  FrameRef frame;
  std::uint32_t block = 0;
  // What the work makes of it.
  std::optional<Error> error;
  std::optional<Finding> fault;
  Batch batch;
};

// Gives the tasks of all members, in order.
class TaskSource {
 public:
  TaskSource(Archive& archive, const RowQuery& query, const ScanRequest& request)
      : archive_(archive), query_(query), request_(request) {
    options_.strict = request.strict;
    options_.walk.policy = request.strict ? WalkPolicy::strict : WalkPolicy::report;
    options_.walk.max_memory_bytes = request.max_memory_bytes;
  }

  // Errors end the input; the caller looks at error() then.
  std::optional<Task> next() {
    while (!error_) {
      if (plan_ && position_ < plan_->frames.size()) {
        return block_task();
      }
      if (plan_) {
        auto last = end_of_member();
        plan_.reset();
        if (last) {
          return last;
        }
      }
      if (members_done_ == archive_.members().size()) {
        return std::nullopt;
      }
      const std::size_t step = members_done_++;
      member_ = request_.reverse ? archive_.members().size() - 1 - step : step;
      auto plan = plan_member(archive_, member_, query_, options_);
      if (!plan) {
        error_ = std::move(plan).error();
        return std::nullopt;
      }
      position_ = 0;
      if (plan->segment) {
        plan_ = *std::move(plan);
        if (!plan_->segment->findings.empty()) {
          Task task;
          task.before = plan_->segment->findings;
          return task;
        }
      }
    }
    return std::nullopt;
  }

  const std::optional<Error>& error() const { return error_; }

 private:
  std::size_t ordinal(std::size_t position) const {
    const auto& frames = plan_->frames;
    return request_.reverse ? frames[frames.size() - 1 - position] : frames[position];
  }

  Task block_task() {
    const std::size_t at = ordinal(position_++);
    Task task;
    task.segment = plan_->segment;
    task.member = member_;
    task.frame = plan_->walk.frames[at];
    task.block = static_cast<std::uint32_t>(at);
    const auto& gaps = plan_->walk.gaps;
    const auto gap = std::ranges::lower_bound(gaps, at, {}, &WalkGap::before_frame);
    if (gap != gaps.end() && gap->before_frame == at) {
      task.before.push_back(gap_finding(*task.segment->file, *gap));
    }
    if (task.frame.prefix_differs()) {
      task.before.push_back(prefix_finding(*task.segment->file, task.frame, at));
    }
    return task;
  }

  std::optional<Task> end_of_member() {
    const SegmentWalk& walk = plan_->walk;
    const SegmentFile& file = *plan_->segment->file;
    Task task;
    if (!walk.gaps.empty() && walk.gaps.back().before_frame == walk.frames.size()) {
      task.before.push_back(gap_finding(file, walk.gaps.back()));
    }
    if (walk.too_many) {
      task.before.push_back(too_many_finding(file, walk));
    }
    if (walk.tail != TailState::whole) {
      task.before.push_back(tail_finding(file, walk));
    }
    return task.before.empty() ? std::nullopt : std::optional(std::move(task));
  }

  Archive& archive_;
  const RowQuery& query_;
  const ScanRequest& request_;
  PlanOptions options_;
  std::size_t members_done_ = 0;
  std::size_t member_ = 0;
  std::optional<MemberPlan> plan_;
  std::size_t position_ = 0;
  std::optional<Error> error_;
};

// What the workers and the ordered end of one scan share.
class LogScan {
 public:
  LogScan(const Archive& archive, const RowQuery& query, const ScanRequest& request,
          const Projection& projection, BatchSink& sink, FindingSink& findings)
      : archive_(archive),
        query_(query),
        request_(request),
        projection_(projection),
        delivery_(request, sink, findings, summary_) {
    for (unsigned i = 0; i < base::thread_count(request.threads); ++i) {
      readers_.emplace_back(request.max_memory_bytes);
    }
  }

  // On a worker.
  void work(Task& task, unsigned worker) {
    if (!task.segment) {
      return;
    }
    std::shared_ptr<BatchMemory> memory = pool_.take();
    auto fault = readers_[worker].read(*task.segment, task.frame, task.block, memory->block);
    if (!fault) {
      task.error = std::move(fault).error();
      return;
    }
    if (*fault) {
      task.fault = *std::move(fault);
      return;
    }
    memory->segment_label = archive_.members()[task.member].label_dictionary;
    BatchRequest request;
    request.projection = &projection_;
    request.block = task.block;
    request.reverse = request_.reverse;
    request.selected = select_rows(query_, *memory);
    task.batch = make_batch(std::move(memory), request);
    if (request_.mapper != nullptr && task.batch.rows != 0) {
      request_.mapper->map(task.batch);
    }
  }

  // In order. False stops the scan.
  bool consume(Task& task) {
    if (task.error) {
      error_ = std::move(task.error);
      return false;
    }
    for (Finding& finding : task.before) {
      if (!delivery_.tell(std::move(finding))) {
        return false;
      }
    }
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

  const std::optional<Error>& error() const { return error_; }
  ScanSummary summary() const { return summary_; }

 private:
  const Archive& archive_;
  const RowQuery& query_;
  const ScanRequest& request_;
  const Projection& projection_;
  BatchPool pool_;
  std::deque<BlockReader> readers_;  // one a worker
  std::optional<Error> error_;
  ScanSummary summary_;
  model::ScanDelivery delivery_;
};

}  // namespace

Result<ScanSummary> View::scan(const ScanRequest& request, BatchSink& sink, FindingSink& findings) {
  if (request.face != Face::log) {
    return scan_state(request, sink, findings);
  }
  VARVE_ASSIGN(const RowQuery query, RowQuery::compile(request.predicate));
  VARVE_ASSIGN(const Projection projection, make_projection(request.columns));
  if (request.limit == 0) {
    return ScanSummary{};
  }
  TaskSource source(*archive_, query, request);
  LogScan scan(*archive_, query, request, projection, sink, findings);
  const unsigned threads = base::thread_count(request.threads);
  base::run_ordered_pipeline<Task>(
      threads, 2 * threads, [&] { return source.next(); },
      [&](Task& task, unsigned worker) { scan.work(task, worker); },
      [&](Task& task) { return scan.consume(task); });
  if (scan.error()) {
    return std::unexpected(*scan.error());
  }
  if (source.error()) {
    return std::unexpected(*source.error());
  }
  return scan.summary();
}

}  // namespace varve::jss
