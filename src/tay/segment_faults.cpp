// SPDX-License-Identifier: MIT OR Apache-2.0
// The serial half of a log pass, continued: footers, hurt records, and going on behind them.
#include <algorithm>
#include <utility>

#include "base/checksum.hpp"
#include "tay/refusal.hpp"
#include "tay/segment_pass.hpp"

namespace varve::tay {

namespace {

// What a search for the next certain record may hash before it gives up, in multiples of the
// segment's size: plausible headers that lead nowhere must not cost quadratic time.
constexpr std::uint64_t k_search_factor = 4;

}  // namespace

Result<bool> SegmentPass::judge_footer() {
  ended_ = true;
  Segment& now = segment();
  const std::uint64_t left = now.bytes() - at_;
  if (left < k_footer_bytes) {
    return judge_incomplete("incomplete_footer", left, k_footer_bytes, "footer");
  }
  ++result_.totals.units;
  if (left > k_footer_bytes) {
    ObjectFault fault;
    fault.fault = {"trailing_footer_bytes", 0, Number::decimal(k_footer_bytes),
                   Number::decimal(left)};
    return refuse(object_refusal(fault, "footer", {}, at_, left));
  }
  VARVE_ASSIGN(const ByteSpan bytes, window_.view(at_, k_footer_bytes));
  SegmentFooter footer;
  auto fault = decode_footer(bytes, footer);
  if (!fault && now.header) {
    fault = check_footer_header(footer, *now.header);
  }
  if (fault) {
    return refuse(object_refusal(*fault, "footer", {}, at_, k_footer_bytes));
  }
  if (now.hurt) {
    // What the footer counts beyond what was met is lost; its other numbers cannot fit any more.
    if (next_sequence_ && *next_sequence_ != 0) {
      lose(*next_sequence_, footer.last_sequence + 1, true);
    }
    next_sequence_ = footer.last_sequence + 1;
  } else if ((fault = check_footer_records(footer, now.records, now.last_sequence, now.crc))) {
    now.end = now.bytes();
    return refuse(object_refusal(*fault, "footer", {}, at_, k_footer_bytes));
  }
  now.footer = footer;
  now.sealed = true;
  at_ = now.end = now.bytes();
  return true;
}

// The footer of a segment whose records are not looked at.
Result<bool> SegmentPass::judge_quick_footer() {
  ended_ = true;
  Segment& now = segment();
  const std::uint64_t left = now.bytes() - k_header_bytes;
  at_ = now.bytes() - std::min<std::uint64_t>(left, k_footer_bytes);
  result_.totals.bytes += now.bytes() - at_;
  window_.open(*file_, now.bytes());
  VARVE_ASSIGN(const ByteSpan view, window_.view(at_, k_footer_bytes));
  const ByteSpan bytes = view.first(std::min(view.size(), k_footer_bytes));
  if (bytes.size() < k_footer_bytes || base::as_text(bytes.first(4)) != k_footer_magic) {
    at_ = now.bytes();
    return end_of_file();
  }
  ++result_.totals.units;
  SegmentFooter footer;
  auto fault = decode_footer(bytes, footer);
  if (!fault && now.header) {
    fault = check_footer_header(footer, *now.header);
  }
  if (fault) {
    return refuse(object_refusal(*fault, "footer", {}, at_, k_footer_bytes));
  }
  now.footer = footer;
  now.sealed = true;
  now.records = footer.record_count;
  now.last_sequence = footer.last_sequence;
  at_ = now.end = now.bytes();
  result_.totals.records += footer.record_count;
  next_sequence_ = footer.last_sequence + 1;
  return true;
}

Result<bool> SegmentPass::judge_sequence(const WalkStop& stop) {
  const RecordHeader& header = stop.record.header;
  Refusal refusal = make_refusal(RefusalKind::continuity, "segments", "sequence",
                                 {stop.expected_sequence, header.sequence},
                                 "the record's sequence does not follow the one before");
  refusal.physical_kind = "record_or_sequence_error";
  refusal.unit = "record";
  refusal.offset = at_;
  refusal.length = header.frame_bytes();
  refusal.index = segment().records;
  refusal.expected = Number::decimal(stop.expected_sequence);
  refusal.actual = Number::decimal(header.sequence);
  if (!refuse(std::move(refusal))) {
    return false;
  }
  if (stop.expected_sequence != 0) {
    lose(stop.expected_sequence, header.sequence, false);
  }
  next_sequence_ = header.sequence;  // the record itself is whole: the walk takes it as it is
  return true;
}

Result<bool> SegmentPass::judge_bad_record(const WalkStop& stop) {
  const DecodedRecord& record = stop.record;
  if (stop.incomplete_record()) {
    const std::uint64_t expected =
        record.header_proven ? record.header.frame_bytes() : k_record_header_bytes;
    return judge_incomplete("incomplete_record", stop.available, expected, "record");
  }
  Refusal refusal = record_refusal(record, at_);
  refusal.index = segment().records;
  if (!refuse(std::move(refusal))) {
    return false;
  }
  // A proven header says where the record ends, whatever its payload has become.
  if (!record.header_proven || record.header.frame_bytes() > segment().bytes() - at_) {
    return search_on();
  }
  if (next_sequence_ && *next_sequence_ != 0) {
    lose(*next_sequence_, record.header.sequence, false);
  }
  ++result_.totals.units;
  ++result_.totals.records;
  ++(record.status == RecordStatus::resource_limit ? result_.totals.unknown : result_.totals.lost);
  next_sequence_ = record.header.sequence + 1;
  at_ += record.header.frame_bytes();
  return true;
}

// Looks for the next place where a record certainly begins: header and record CRC hold, the
// sequence is one that the records of the gap leave room for, and a record with the sequence after
// it, a footer or the end of the file follows.
Result<bool> SegmentPass::search_on() {
  const std::uint64_t size = segment().bytes();
  std::uint64_t budget_bytes =
      size > k_u64_max / k_search_factor ? k_u64_max : size * k_search_factor;
  std::uint64_t from = at_ + 1;
  while (from < size) {
    VARVE_ASSIGN(const std::optional<std::uint64_t> found,
                 find_record_header(window_, from, size, options_.payload_budget));
    if (!found) {
      break;
    }
    std::uint64_t sequence = 0;
    VARVE_ASSIGN(const bool certain, proves_unit(*found, budget_bytes, sequence));
    if (certain) {
      if (next_sequence_ && *next_sequence_ != 0) {
        lose(*next_sequence_, sequence, true);
      }
      pending_->length = *found - at_;
      next_sequence_ = sequence;
      at_ = *found;
      return true;
    }
    if (budget_bytes == 0) {
      break;
    }
    from = *found + 1;
  }
  VARVE_TRY(give_up());
  return true;
}

Result<bool> SegmentPass::proves_unit(std::uint64_t at, std::uint64_t& budget_bytes,
                                      std::uint64_t& sequence) {
  WalkRequest request;
  request.begin = at;
  request.limit = at + 1;
  request.payload_budget = options_.payload_budget;
  Walk walk = walk_records(window_, request);
  if (walk.stop.kind == WalkStop::Kind::io) {
    return std::unexpected(walk.stop.error);
  }
  const std::uint64_t cost = walk.count != 0 ? walk.end - walk.begin : walk.stop.available;
  budget_bytes -= std::min({budget_bytes, cost, std::uint64_t{k_max_payload_bytes}});
  sequence = walk.first_sequence;
  const std::uint64_t expected = next_sequence_.value_or(sequence);
  const std::uint64_t room = (at - at_) / k_record_frame_bytes;
  if (walk.count == 0 || expected == 0 || sequence < expected || sequence - expected > room) {
    return false;
  }
  request.begin = walk.end;
  request.limit = walk.end + 1;
  request.expected_sequence = walk.next_sequence();
  walk = walk_records(window_, request);
  if (walk.stop.kind == WalkStop::Kind::io) {
    return std::unexpected(walk.stop.error);
  }
  budget_bytes -= std::min(budget_bytes, walk.end - walk.begin);
  return walk.count != 0 || walk.stop.kind == WalkStop::Kind::footer ||
         walk.stop.kind == WalkStop::Kind::end_of_file;
}

// Nothing behind this point can be told apart. A sound footer still says how much there was.
Result<void> SegmentPass::give_up() {
  ended_ = true;
  Segment& now = segment();
  pending_->length = now.bytes() - at_;
  if (now.bytes() - at_ >= k_footer_bytes) {
    VARVE_ASSIGN(const ByteSpan bytes, window_.view(now.bytes() - k_footer_bytes, k_footer_bytes));
    SegmentFooter footer;
    if (!decode_footer(bytes, footer) && now.header && !check_footer_header(footer, *now.header) &&
        next_sequence_ && footer.last_sequence >= *next_sequence_ - 1) {
      ++result_.totals.units;
      lose(*next_sequence_, footer.last_sequence + 1, true);
      next_sequence_ = footer.last_sequence + 1;
      now.footer = footer;
      now.sealed = true;
      return {};
    }
  }
  if (is_highest(index_)) {
    ++result_.totals.unknown;
  }
  return {};
}

}  // namespace varve::tay
