// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/replay.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/checksum.hpp"
#include "base/pipeline.hpp"
#include "tay/refusal.hpp"
#include "tay/v2_judge.hpp"
#include "tay/window.hpp"

namespace varve::tay {

namespace {

// One run on its way: its bytes, and the events in them.
struct RunItem {
  std::size_t segment = 0;
  LogRun run;
  std::shared_ptr<const io::File> file;
  Bytes bytes;
  std::vector<ReplayEvent> events;
  std::optional<Error> error;
};

class Replay {
 public:
  Replay(const io::Directory& directory, const std::vector<Segment>& segments,
         const ReplayOptions& options, JobTable& jobs)
      : directory_(directory),
        segments_(segments),
        options_(options),
        judge_(jobs, options.budgets, options.strict),
        alone_(base::thread_count(options.threads) == 1 || options.v2_base_segments) {
    if (options.v2_base_segments) {
      v2_judge_.emplace(jobs, options.budgets.event, *options.v2_base_segments);
    }
  }

  Result<std::vector<Refusal>> run() {
    base::run_ordered_pipeline<RunItem>(
        options_.threads, base::thread_count(options_.threads) * 2, [this] { return produce(); },
        [this](RunItem& item, unsigned) { work(item); },
        [this](RunItem& item) { return consume(item); });
    if (error_) {
      return std::unexpected(std::move(*error_));
    }
    if (v2_judge_) {
      if (auto refusal = v2_judge_->finish()) {
        hand_on(std::move(*refusal));
      }
    }
    return std::move(refusals_);
  }

 private:
  std::optional<RunItem> produce() {
    while (segment_ < segments_.size() && run_ == segments_[segment_].runs.size()) {
      ++segment_;
      run_ = 0;
      file_.reset();
    }
    if (segment_ == segments_.size()) {
      return std::nullopt;
    }
    RunItem item;
    item.segment = segment_;
    item.run = segments_[segment_].runs[run_++];
    if (!spare_.empty()) {
      item.bytes = std::move(spare_.back().bytes);
      item.events = std::move(spare_.back().events);
      spare_.pop_back();
    }
    if (!file_) {
      auto opened = directory_.open_file(segments_[segment_].name, io::OpenMode::read);
      if (!opened) {
        item.error = std::move(opened).error();
        return item;
      }
      file_ = *std::move(opened);
      auto same = check_same(*file_, segments_[segment_].identity, !options_.strict);
      if (!same) {
        item.error = std::move(same).error();
      }
    }
    item.file = file_;
    return item;
  }

  void work(RunItem& item) {
    if (item.error) {
      return;
    }
    auto read = read_run(*item.file, item.run, item.bytes);
    if (!read) {
      item.error = std::move(read).error();
      return;
    }
    if (alone_) {
      return;  // the consumer reads the events as it applies them
    }
    item.events.clear();
    for_each_record(
        item.bytes, item.run.begin,
        [&](const RecordHeader& header, std::uint64_t offset, ByteSpan payload) {
          item.events.push_back(read_event(header, offset, payload, options_.budgets.event));
          return true;
        });
  }

  bool consume(RunItem& item) {
    if (item.error) {
      error_ = std::move(item.error);
      return false;
    }
    if (options_.tick) {
      if (auto refusal = options_.tick()) {
        hand_on(std::move(*refusal));
        return false;
      }
    }
    if (item.run.first_sequence != next_sequence_) {
      judge_.gap();
      if (v2_judge_) v2_judge_->gap();
    }
    next_sequence_ = item.run.first_sequence + item.run.count;
    bool more = true;
    if (alone_) {
      for_each_record(
          item.bytes, item.run.begin,
          [&](const RecordHeader& header, std::uint64_t offset, ByteSpan payload) {
            more = v2_judge_ ? take_v2(header, offset, payload, item.segment)
                             : take(read_event(header, offset, payload, options_.budgets.event),
                                    item.segment);
            return more;
          });
    } else {
      for (std::size_t i = 0; more && i < item.events.size(); ++i) {
        more = take(item.events[i], item.segment);
      }
    }
    spare_.push_back(std::move(item));
    return more;
  }

  void hand_on(Refusal refusal) {
    if (options_.refused) {
      options_.refused(std::move(refusal));
    } else {
      refusals_.push_back(std::move(refusal));
    }
  }

  bool take(const ReplayEvent& event, std::size_t segment) {
    return tell(judge_.judge(event, static_cast<std::uint32_t>(segment)), segment, event.sequence,
                event.offset, event.frame_bytes);
  }
  bool take_v2(const RecordHeader& header, std::uint64_t offset, ByteSpan payload,
               std::size_t segment) {
    return tell(v2_judge_->judge(header, offset, payload, static_cast<std::uint32_t>(segment)),
                segment, header.sequence, offset, header.frame_bytes());
  }

  // Says where a refused record stands. False if that ends the replay.
  bool tell(std::optional<Refusal> refusal, std::size_t segment, std::uint64_t sequence,
            std::uint64_t offset, std::uint64_t length) {
    if (!refusal) {
      return true;
    }
    refusal->segment_id = segments_[segment].id;
    refusal->file = options_.file_prefix + segments_[segment].name;
    refusal->offset = offset;
    refusal->sequence = sequence;
    refusal->length = length;
    if (segments_[segment].header) {
      refusal->index = sequence - segments_[segment].header->first_sequence;
    }
    hand_on(std::move(*refusal));
    return !options_.strict;
  }

  const io::Directory& directory_;
  const std::vector<Segment>& segments_;
  const ReplayOptions& options_;
  EventJudge judge_;
  std::optional<V2Judge> v2_judge_;
  bool alone_;
  std::vector<Refusal> refusals_;
  std::optional<Error> error_;
  std::vector<RunItem> spare_;  // buffers to use again
  std::shared_ptr<const io::File> file_;
  std::size_t segment_ = 0;
  std::size_t run_ = 0;
  std::uint64_t next_sequence_ = 1;
};

}  // namespace

Result<void> read_run(const io::File& file, const LogRun& run, Bytes& out) {
  const auto size = static_cast<std::size_t>(run.end - run.begin);
  out.resize(size);
  std::uint32_t crc = 0;
  for (std::size_t at = 0; at < size; at += k_read_bytes) {
    const std::span<std::byte> block =
        std::span(out).subspan(at, std::min(k_read_bytes, size - at));
    VARVE_TRY(read_exactly(file, run.begin + at, block));
    crc = base::crc32c(block, crc);
  }
  if (crc != run.crc) {
    return fail(ErrorCode::locked, "changed", "the file's bytes changed between two looks",
                file.path());
  }
  return {};
}

ReplayEvent read_event(const RecordHeader& header, std::uint64_t offset, ByteSpan payload,
                       const EventBudget& budget) {
  ReplayEvent out;
  out.sequence = header.sequence;
  out.offset = offset;
  out.frame_bytes = static_cast<std::uint32_t>(header.frame_bytes());
  if (header.type > k_event_types) {
    out.kind = RefusalKind::unsupported_semantics;
    out.word = "unknown_event_type";
  } else if (header.schema != k_event_schema) {
    out.kind = RefusalKind::unsupported_semantics;
    out.word = "unsupported_payload_schema";
  } else if (const auto fault = decode_event(EventType{header.type}, payload, budget, out.event)) {
    out.kind = fault->limit ? RefusalKind::resource_limit : RefusalKind::invalid_payload;
    out.word = fault->word;
  } else if (out.event.type == EventType::inserted) {
    out.definition_offset = static_cast<std::uint32_t>(
        offset + k_record_header_bytes +
        static_cast<std::uint64_t>(out.event.definition.bytes.data() - payload.data()));
  }
  return out;
}

std::optional<Refusal> EventJudge::judge(const ReplayEvent& event, std::uint32_t segment) {
  if (event.word != nullptr) {
    certain_ = false;  // whichever job it was about has changed in an unknown way
    if (event.kind == RefusalKind::unsupported_semantics) {
      return semantic_refusal(
          event.kind, event.word,
          "the record's event has a type or schema that this build does not know");
    }
    return payload_refusal({event.word, event.kind == RefusalKind::resource_limit, 0});
  }
  EventPlace place;
  place.revision = place.order = event.sequence;
  place.segment = segment;
  place.definition_offset = event.definition_offset;
  if (jobs_.apply(event.event, place)) {
    if (strict_ && event.event.type == EventType::inserted) {
      if (const char* limit = exceeded_budget(jobs_, budgets_)) {
        return semantic_refusal(RefusalKind::resource_limit, limit,
                                "the jobs would be charged more than the budget");
      }
    }
    return std::nullopt;
  }
  if (!certain_ || !doubtful_.insert(event.event.job_id).second) {
    return std::nullopt;
  }
  return semantic_refusal(RefusalKind::consumer_rejected, "invalid_transition",
                          "the job's state does not allow the " +
                              std::string(event_name(static_cast<std::uint8_t>(event.event.type))) +
                              " event");
}

Result<std::vector<Refusal>> replay(const io::Directory& directory,
                                    const std::vector<Segment>& segments,
                                    const ReplayOptions& options, JobTable& jobs) {
  return Replay(directory, segments, options, jobs).run();
}

}  // namespace varve::tay
