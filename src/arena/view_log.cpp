// SPDX-License-Identifier: MIT OR Apache-2.0
// Scanning the log face, forwards and backwards.
#include <algorithm>

#include "arena/findings.hpp"
#include "arena/log_rows.hpp"
#include "arena/log_walk.hpp"
#include "arena/view.hpp"
#include "model/scan_delivery.hpp"

namespace varve::arena {

namespace {

LogRequest log_request(const ScanRequest& request) {
  LogRequest out;
  const auto wanted = [&](std::string_view name) {
    return request.columns.empty() ||
           std::ranges::find(request.columns, name) != request.columns.end();
  };
  out.wants_payload = wanted("payload") || request.mapper != nullptr;
  for (const FilterTerm& term : request.predicate.terms) {
    if (term.name == "id") {
      out.ids.push_back(term.value);
    }
  }
  return out;
}

// Makes rows of the frames of a chunk; any thread.
class RowMaker {
 public:
  struct Scratch {
    base::Buffer room;
    PayloadScratch payload;
  };

  RowMaker(const PayloadContext& payloads, const LogRequest& request, unsigned threads)
      : payloads_(payloads), request_(request), scratch_(base::thread_count(threads)) {}

  std::byte* room(LogRows& rows, const PlannedFrame& frame, unsigned worker) {
    return direct() ? rows.room(frame.header.raw_len)
                    : scratch_[worker].room.reserve(frame.header.raw_len);
  }
  void add(LogRows& rows, std::uint64_t number, const SegmentContext& segment,
           const PlannedFrame& frame, base::ByteSpan payload, unsigned worker) {
    PayloadScratch& scratch = scratch_[worker].payload;
    if (!request_.ids.empty() && !names_an_id(payloads_, payload, request_.ids, scratch)) {
      return;
    }
    if (payloads_.key) {
      payload = look_at_payload(payloads_, payload, scratch).text;
    }
    rows.add(number, segment.file().number, segment.global(frame.offset), frame, payload,
             request_.wants_payload);
  }

 private:
  // Whether payloads are decompressed straight into the column.
  bool direct() const { return request_.wants_payload && request_.ids.empty() && !payloads_.key; }

  const PayloadContext& payloads_;
  const LogRequest& request_;
  std::vector<Scratch> scratch_;
};

// A place in the log from which some frames can be read again: what a backward scan remembers.
struct Stretch {
  std::size_t position = 0;  // of the segment
  std::uint64_t begin = 0;
  std::uint64_t frames = 0;
  std::uint64_t first_number = 0;
};

// What forward scans and the first pass of backward ones share: numbering, damage, ends.
class LogWalkBase {
 public:
  LogWalkBase(bool strict, ScanSummary& summary, FindingSink& findings)
      : strict_(strict), summary_(summary), findings_(findings) {}

  void segment(const SegmentContext& context) {
    context_ = &context;
    index_ = 0;
    run_first_ = number_;
  }
  Result<bool> damage(const SegmentContext& context, const Damage& damage) {
    Finding finding = damage_finding(context, damage, index_);
    if (finding.severity == Severity::error) {
      summary_.verdict = worse(summary_.verdict, finding.verdict);
      ++number_;  // the hurt frame keeps its number, so that later ones keep theirs
      ++index_;
    }
    findings_.add(std::move(finding));
    run_first_ = number_;
    return !strict_;
  }
  Result<void> end(const SegmentContext&, const SegmentEnd&, TailScanner&) { return {}; }

 protected:
  void count(std::size_t frames) {
    number_ += frames;
    index_ += frames;
  }

  bool strict_;
  ScanSummary& summary_;
  FindingSink& findings_;
  const SegmentContext* context_ = nullptr;
  std::uint64_t number_ = 0;     // frames of the log so far
  std::uint64_t index_ = 0;      // frames of this segment so far
  std::uint64_t run_first_ = 0;  // number of the first frame of this run
};

class ForwardScan final : public LogWalkBase {
 public:
  struct Output {
    std::shared_ptr<LogRows> rows;
    std::uint64_t first_number = 0;
    std::uint64_t seen = 0;
    Batch batch;
  };

  ForwardScan(RowMaker& maker, const ScanRequest& request, BatchSink& sink, ScanSummary& summary,
              FindingSink& findings)
      : LogWalkBase(request.strict, summary, findings),
        maker_(maker),
        mapper_(request.mapper),
        delivery_(request, sink, findings, summary) {}

  void begin(Output& output, const RawChunk& chunk) {
    output.batch = {};
    if (!output.rows || output.rows.use_count() > 1) {
      output.rows = std::make_shared<LogRows>();  // a consumer kept the last batch
    }
    output.rows->clear();
    output.first_number = run_first_ + chunk.first_frame;
    output.seen = 0;
  }
  std::byte* room(Output& output, const PlannedFrame& frame, unsigned worker) {
    return maker_.room(*output.rows, frame, worker);
  }
  void frame(Output& output, const PlannedFrame& frame, base::ByteSpan payload, unsigned worker) {
    maker_.add(*output.rows, output.first_number + output.seen++, *context_, frame, payload,
               worker);
  }
  void finish(Output& output, unsigned) {
    output.batch = output.rows->batch(output.rows);
    if (mapper_ != nullptr && output.batch.rows > 0) {
      mapper_->map(output.batch);
    }
  }
  Result<bool> deliver(Output& output, std::span<const PlannedFrame> frames) {
    count(frames.size());
    return delivery_.deliver(std::move(output.batch));
  }

 private:
  RowMaker& maker_;
  const BatchMapper* mapper_;
  model::ScanDelivery delivery_;
};

// First pass of a backward scan: proves the frames and remembers where stretches of them begin.
class Surveyor final : public LogWalkBase {
 public:
  struct Output {
    std::uint64_t begin = 0;
  };
  Surveyor(unsigned threads, bool strict, ScanSummary& summary, FindingSink& findings)
      : LogWalkBase(strict, summary, findings), scratch_(base::thread_count(threads)) {}

  void begin(Output& output, const RawChunk& chunk) { output.begin = chunk.begin; }
  std::byte* room(Output&, const PlannedFrame& frame, unsigned worker) {
    return scratch_[worker].reserve(frame.header.raw_len);
  }
  void frame(Output&, const PlannedFrame&, base::ByteSpan, unsigned) {}
  void finish(Output&, unsigned) {}
  Result<bool> deliver(Output& output, std::span<const PlannedFrame> frames) {
    if (!frames.empty()) {
      stretches.push_back({context_->position, output.begin, frames.size(), number_});
    }
    count(frames.size());
    return true;
  }

  std::vector<Stretch> stretches;

 private:
  std::vector<base::Buffer> scratch_;
};

}  // namespace

Result<ScanSummary> ArenaView::scan_log(const ScanRequest& request, BatchSink& sink,
                                        FindingSink& findings) {
  ScanSummary summary;
  const WalkOptions options =
      walk_options(request.strict ? Policy::strict : Policy::report, request.threads);
  const LogRequest wanted = log_request(request);
  RowMaker maker(payloads_, wanted, options.threads);
  ForwardScan scan(maker, request, sink, summary, findings);
  VARVE_TRY(walk_log(map_, options, scan));
  return summary;
}

Result<ScanSummary> ArenaView::scan_log_reverse(const ScanRequest& request, BatchSink& sink,
                                                FindingSink& findings) {
  ScanSummary summary;
  const WalkOptions options =
      walk_options(request.strict ? Policy::strict : Policy::report, request.threads);
  Surveyor surveyor(options.threads, request.strict, summary, findings);
  VARVE_TRY(walk_log(map_, options, surveyor));

  struct Item {
    const Stretch* stretch = nullptr;
    std::shared_ptr<LogRows> rows;
    Batch batch;
    std::optional<Error> error;
  };
  const LogRequest wanted = log_request(request);
  RowMaker maker(payloads_, wanted, options.threads);
  model::ScanDelivery delivery(request, sink, findings, summary);
  std::vector<std::unique_ptr<SegmentImage>> images(map_.segments.size());
  std::optional<Error> error;
  auto next = surveyor.stretches.rbegin();

  const auto produce = [&]() -> std::optional<Item> {
    if (next == surveyor.stretches.rend() || delivery.full() || error) {
      return std::nullopt;
    }
    Item item;
    item.stretch = &*next++;
    auto& image = images[item.stretch->position];
    if (!image) {
      auto opened = map_.open_segment(item.stretch->position);
      if (!opened) {
        error = std::move(opened).error();
        return std::nullopt;
      }
      image = *std::move(opened);
    }
    return item;
  };
  const auto work = [&](Item& item, unsigned worker) {
    const SegmentContext segment{map_, item.stretch->position, *images[item.stretch->position]};
    ChunkReader reader(segment.image, item.stretch->begin, options.max_unit_bytes);
    RawChunk chunk;
    item.rows = std::make_shared<LogRows>();
    std::uint64_t done = 0;
    while (done < item.stretch->frames) {
      auto more = reader.next(chunk);
      if (!more) {
        item.error = std::move(more).error();
        return;
      }
      if (!*more) {  // the frames were there in the first pass
        item.error =
            fail(ErrorCode::locked, "changing", "the log changed while it was read", segment.path())
                .error();
        return;
      }
      for (const PlannedFrame& frame : chunk.frames) {
        base::ByteSpan payload;
        if (done == item.stretch->frames) {
          break;
        }
        const auto fault = check_planned(
            frame.header, chunk.data_of(frame),
            [&] { return maker.room(*item.rows, frame, worker); }, payload);
        if (!fault) {
          maker.add(*item.rows, item.stretch->first_number + done, segment, frame, payload, worker);
        }
        ++done;
      }
    }
    item.rows->reverse();
    item.batch = item.rows->batch(item.rows);
    if (request.mapper != nullptr && item.batch.rows > 0) {
      request.mapper->map(item.batch);
    }
  };
  const auto consume = [&](Item& item) {
    if (item.error) {
      error = std::move(item.error);
      return false;
    }
    auto go_on = delivery.deliver(std::move(item.batch));
    if (!go_on) {
      error = std::move(go_on).error();
      return false;
    }
    return *go_on;
  };
  base::run_ordered_pipeline<Item>(options.threads, base::thread_count(options.threads) + 2,
                                   produce, work, consume);
  if (error) {
    return std::unexpected(std::move(*error));
  }
  return summary;
}

Result<ScanSummary> ArenaView::scan(const ScanRequest& request, BatchSink& sink,
                                    FindingSink& findings) {
  const Verdict structure = report_structure(findings);
  const bool unreadable =
      !map_.live || (map_.refusal && map_.refusal->reason == "unsupported-format");
  if (request.face == Face::state && unreadable && !request.partial) {
    return std::unexpected(*map_.refusal);
  }
  if (unreadable || request.limit == 0) {
    return ScanSummary{0, unreadable ? structure : Verdict::clean};
  }
  Result<ScanSummary> summary = request.face == Face::state ? scan_state(request, sink, findings)
                                : request.reverse ? scan_log_reverse(request, sink, findings)
                                                  : scan_log(request, sink, findings);
  if (summary) {
    summary->verdict = worse(summary->verdict, structure);
  }
  return summary;
}

void ArenaView::render(Face face, const Batch& batch, const RenderOptions& options,
                       std::string& out) const {
  if (face == Face::state) {
    return render_state(batch, options, out);
  }
  PayloadScratch scratch;
  for (std::size_t row = 0; row < batch.rows; ++row) {
    append_log_line(out, payloads_, batch, row, options, scratch);
  }
}

}  // namespace varve::arena
