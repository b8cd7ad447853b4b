// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/segment_pass.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/checksum.hpp"
#include "base/mutant.hpp"
#include "tay/refusal.hpp"

namespace varve::tay {

namespace {

// How long a reader waits for a writer that seems to be in the middle of a write.
constexpr int k_growth_tries = 20;
constexpr auto k_growth_wait = std::chrono::milliseconds(1);

}  // namespace

WalkedPiece SegmentPass::walk(Window& window, std::size_t segment, std::uint64_t begin,
                              std::uint64_t limit, std::optional<std::uint64_t> expected_sequence,
                              std::uint64_t count_limit) const {
  WalkedPiece out;
  out.valid = true;
  if (options_.make_collector) {
    out.collector = options_.make_collector(segment);
  }
  WalkRequest request;
  request.begin = begin;
  request.limit = limit;
  request.expected_sequence = expected_sequence;
  request.count_limit = count_limit;
  request.payload_budget = options_.payload_budget;
  request.collector = out.collector.get();
  out.walk = walk_records(window, request);
  if (out.collector) {
    out.collector->finish();
  }
  return out;
}

bool SegmentPass::refuse(Refusal refusal) {
  refusal.segment_id = segment().id;
  refusal.file = file_name();
  segment().hurt = true;
  hand_on();
  pending_ = std::move(refusal);
  refused_ = true;
  return !strict();
}

void SegmentPass::hand_on() {
  if (!pending_) {
    return;
  }
  if (options_.refused) {
    options_.refused(std::move(*pending_));
  } else {
    result_.refusals.push_back(std::move(*pending_));
  }
  pending_.reset();
}

void SegmentPass::lose(std::uint64_t from, std::uint64_t to, bool met) {
  if (to > from) {
    result_.totals.lost += to - from;
    result_.totals.records += met ? to - from : 0;
  }
}

Result<bool> SegmentPass::begin_segment(std::size_t index, const io::File& file) {
  if (index != 0) {
    bytes_before_ += at_;
    previous_hurt_ = segment().hurt;
  } else if (options_.from_start) {
    next_sequence_ = 1;
  }
  index_ = index;
  file_ = &file;
  ended_ = false;
  at_ = 0;
  if (index == 0) {
    store_id_ = options_.store_id;
  }
  Segment& now = segment();
  // A quick look ends its window with the header, so that no more is read.
  window_.open(file, looks_quickly(index) ? std::min<std::uint64_t>(now.bytes(), k_header_bytes)
                                          : now.bytes());
  VARVE_ASSIGN(const ByteSpan view, window_.view(0, k_header_bytes));
  const ByteSpan bytes = view.first(std::min(view.size(), k_header_bytes));
  ++result_.totals.units;
  result_.totals.bytes += looks_quickly(index) ? k_header_bytes : now.bytes();

  SegmentHeader header;
  auto fault = decode_header(bytes, header);
  if (!fault) {
    now.header = header;
    store_id_ = store_id_.value_or(header.store_id);
    fault = check_header_place(header, now.id, *store_id_, now.bytes());
    check_first_sequence();
    next_sequence_ = header.first_sequence;
  }
  const bool incomplete = fault && fault->type == ObjectFault::Class::incomplete;
  if (incomplete) {
    ended_ = true;
    return judge_incomplete("incomplete_segment_header", bytes.size(), k_header_bytes, "header");
  }
  now.crc = base::crc32c(bytes);
  at_ = now.end = k_header_bytes;
  if (fault && !refuse(object_refusal(*fault, "header", {}, 0, k_header_bytes))) {
    return false;
  }
  if (fault && fault->type == ObjectFault::Class::unsupported) {
    ended_ = true;  // where the records of an unknown version begin, nobody can say
    return true;
  }
  if (looks_quickly(index)) {
    return judge_quick_footer();
  }
  take_proven();
  return true;
}

void SegmentPass::take_proven() {
  Segment& now = segment();
  if (walk_begin(index_) == k_header_bytes) {
    return;
  }
  const ProvenRun& proven = options_.proven[index_];
  at_ = now.end = proven.end;
  now.crc = proven.crc;
  now.records = proven.records;
  now.last_sequence = proven.last_sequence;
  next_sequence_ = proven.last_sequence + 1;
  result_.totals.records += proven.records;
  result_.totals.intact += proven.records;
  result_.totals.units += proven.records;
  result_.totals.bytes -= proven.end - k_header_bytes;
}

// Section 8: told only after every segment by itself.
void SegmentPass::check_first_sequence() {
  const std::uint64_t first = segment().header->first_sequence;
  if (!next_sequence_ || *next_sequence_ == first || base::mutant("tay-first-sequence")) {
    return;
  }
  const std::uint64_t expected = *next_sequence_;
  if (expected != 0) {
    lose(expected, first, false);
  }
  if (previous_hurt_ && first > expected) {
    return;  // follows from what was already said
  }
  Refusal refusal = make_refusal(RefusalKind::continuity, "topology", "first_sequence",
                                 {segment().id, expected, first},
                                 "the segment does not begin where the one before ends");
  refusal.physical_kind = "discovery_error";
  refusal.offset = 0;
  refusal.unit = "header";
  refusal.length = k_header_bytes;
  refusal.expected = Number::decimal(expected);
  refusal.actual = Number::decimal(first);
  refusal.file = file_name();
  topology_.push_back(std::move(refusal));
}

Result<bool> SegmentPass::take(WalkedPiece walked, std::uint64_t limit) {
  if (options_.tick) {
    if (auto refusal = options_.tick()) {
      hand_on();
      pending_ = std::move(*refusal);
      result_.stopped = true;
      return false;
    }
  }
  while (!ended_ && at_ < limit) {
    const std::uint64_t left = k_max_segment_records - segment().records;
    const bool fits = walked.valid && walked.walk.begin == at_ &&
                      (walked.walk.count == 0 || !next_sequence_ ||
                       walked.walk.first_sequence == *next_sequence_) &&
                      walked.walk.count < left;
    if (!fits) {
      walked = walk(window_, index_, at_, limit, next_sequence_, left);
    }
    VARVE_ASSIGN(const bool more, merge(std::move(walked)));
    if (!more) {
      return false;
    }
    walked = WalkedPiece();
  }
  // An empty active segment ends at its header, where no piece reaches beyond.
  if (!ended_ && at_ == segment().bytes() && limit == segment().bytes()) {
    return end_of_file();
  }
  return true;
}

Result<bool> SegmentPass::merge(WalkedPiece walked) {
  Segment& now = segment();
  const Walk& walk = walked.walk;
  if (walk.count != 0) {
    now.crc = base::crc32c_combine(now.crc, walk.crc, walk.end - walk.begin);
    now.records += walk.count;
    now.last_sequence = walk.next_sequence() - 1;
    now.runs.push_back({walk.begin, walk.end, walk.first_sequence, walk.count, walk.crc});
    result_.totals.intact += walk.count;
    result_.totals.records += walk.count;
    result_.totals.units += walk.count;
    next_sequence_ = walk.next_sequence();
    at_ = now.end = walk.end;
    if (strict() && result_.totals.records > options_.record_budget) {
      Refusal refusal = make_refusal(RefusalKind::resource_limit, "segments", "max_replay_records",
                                     "the store has more records than its budget");
      refusal.physical_kind = "io_or_resource_error";
      refuse(std::move(refusal));
      return false;
    }
    if (options_.deliver) {
      VARVE_ASSIGN(const bool more,
                   options_.deliver(index_, now.runs.back(), walked.collector.get()));
      if (!more) {
        result_.stopped = true;
        return false;
      }
    }
  }
  return judge_stop(walk.stop);
}

Result<bool> SegmentPass::judge_stop(const WalkStop& stop) {
  switch (stop.kind) {
    case WalkStop::Kind::limit:
      return true;
    case WalkStop::Kind::end_of_file:
      return end_of_file();
    case WalkStop::Kind::footer:
      return judge_footer();
    case WalkStop::Kind::short_tail:
      ended_ = true;
      return judge_incomplete("ambiguous_short_tail", stop.available, k_magic_bytes, "unit");
    case WalkStop::Kind::sequence:
      return judge_sequence(stop);
    case WalkStop::Kind::not_a_unit: {
      DecodedRecord record;
      record.status = RecordStatus::corrupt;
      record.fault = {"invalid_magic", 0, {}, {}};
      Refusal refusal = record_refusal(record, at_);
      refusal.index = segment().records;
      return refuse(std::move(refusal)) ? search_on() : Result<bool>(false);
    }
    case WalkStop::Kind::bad_record:
      return judge_bad_record(stop);
    case WalkStop::Kind::too_many: {
      Refusal refusal =
          make_refusal(RefusalKind::physical_corruption, "segments", "record_count_exceeds_format",
                       "the segment holds more records than the format allows");
      refusal.physical_kind = "record_or_sequence_error";
      refusal.offset = at_;
      ended_ = true;
      return refuse(std::move(refusal));
    }
    case WalkStop::Kind::io:
      return std::unexpected(stop.error);
  }
  return true;
}

Result<bool> SegmentPass::end_of_file() {
  ended_ = true;
  const bool highest = is_highest(index_);
  if ((highest || base::mutant("tay-earlier-active")) && at_ <= k_max_active_bytes) {
    return true;
  }
  const char* word = highest ? "active_size_exceeds_format" : "earlier_active_segment";
  Refusal refusal = make_refusal(RefusalKind::physical_corruption, "segments", word,
                                 highest ? "the active segment leaves no room for its footer"
                                         : "a segment without footer lies before the highest one");
  refusal.physical_kind = highest ? "record_or_sequence_error" : "sealed_history_error";
  refusal.offset = at_;
  refusal.unit = "footer";
  return refuse(std::move(refusal));
}

// True if the file has grown behind the horizon, or does so in a moment: then what ends here is a
// writer's unfinished write, not the log.
Result<bool> SegmentPass::still_growing() {
  for (int i = 0; options_.live && i < k_growth_tries; ++i) {
    VARVE_ASSIGN(const io::FileIdentity now, file_->identity());
    if (now.size_bytes > segment().bytes()) {
      return true;
    }
    if (!options_.writer_present) {
      return false;
    }
    std::this_thread::sleep_for(k_growth_wait);
  }
  return false;
}

Result<bool> SegmentPass::judge_incomplete(const char* word, std::uint64_t available,
                                           std::uint64_t expected, const char* unit) {
  ended_ = true;
  if (is_highest(index_)) {
    VARVE_ASSIGN(const bool growing, still_growing());
    if (growing) {
      return true;
    }
  }
  Refusal refusal = incomplete_refusal(word, at_, available, expected, unit);
  refusal.index = segment().records;
  if (!is_highest(index_)) {
    make_sealed_history_error(refusal);
  } else if (at_ >= k_header_bytes && refusal.word != "incomplete_footer") {
    ++result_.totals.unknown;
  }
  return refuse(std::move(refusal));
}

LogPassResult SegmentPass::finish() {
  hand_on();
  if (!result_.stopped && !(strict() && refused_)) {
    for (Refusal& refusal : topology_) {
      pending_ = std::move(refusal);
      hand_on();
      if (strict()) {
        break;
      }
    }
  }
  result_.totals.next_sequence = next_sequence_.value_or(1);
  return std::move(result_);
}

}  // namespace varve::tay
