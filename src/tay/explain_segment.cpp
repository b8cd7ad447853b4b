// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/explain_segment.hpp"

#include <algorithm>
#include <utility>

#include "tay/replay.hpp"
#include "tay/v2_records.hpp"

namespace varve::tay {

namespace {
using Check = ExplainRow::Check;
using Class = ExplainRow::Class;
constexpr std::size_t k_most_stale_records = 64;
}  // namespace

Result<void> SegmentExplainer::run(const io::File& file) {
  window_.open(file, segment_.bytes());
  VARVE_TRY(header());
  for (const LogRun& run : segment_.runs) {
    VARVE_TRY(gap(run.begin));
    VARVE_TRY(records(file, run));
  }
  VARVE_TRY(gap(segment_.sealed ? segment_.bytes() - k_footer_bytes : segment_.bytes()));
  if (segment_.sealed) {
    VARVE_TRY(footer());
  }
  return {};
}

Result<ByteSpan> SegmentExplainer::at(std::uint64_t offset, std::size_t length) {
  VARVE_ASSIGN(const ByteSpan view, window_.view(offset, length));
  return view.first(std::min(view.size(), length));
}
const Refusal* SegmentExplainer::refusal_at(std::uint64_t offset) const {
  const auto found = std::ranges::find_if(
      refusals_, [offset](const Refusal& refusal) { return refusal.offset == offset; });
  return found == refusals_.end() ? nullptr : &*found;
}

Result<void> SegmentExplainer::header() {
  VARVE_ASSIGN(const ByteSpan bytes, at(0, k_header_bytes));
  position_ = bytes.size();
  if (asked_for(0, bytes.size())) {
    const Refusal* refusal = refusal_at(0);
    rows_.container(0, bytes.size(), 0, "header", refusal != nullptr ? refusal->word : "",
                    refusal != nullptr ? refusal->message : "",
                    refusal != nullptr ? Check::fails : Check::holds);
    rows_.fields(k_header_fields, 0, bytes, 1);
  }
  return {};
}

Result<void> SegmentExplainer::footer() {
  const std::uint64_t begin = position_;
  VARVE_ASSIGN(const ByteSpan bytes, at(begin, k_footer_bytes));
  if (asked_for(begin, begin + bytes.size())) {
    const Refusal* refusal = refusal_at(begin);
    rows_.container(begin, bytes.size(), 0, "footer", refusal != nullptr ? refusal->word : "",
                    refusal != nullptr ? refusal->message : "",
                    refusal != nullptr ? Check::fails : Check::holds);
    rows_.fields(k_footer_fields, begin, bytes, 1);
  }
  return {};
}

Result<void> SegmentExplainer::gap(std::uint64_t end) {
  while (position_ < end) {
    const std::uint64_t begin = position_;
    VARVE_ASSIGN(const ByteSpan bytes, at(begin, k_record_header_bytes));
    std::uint64_t unit_end = end;
    const DecodedRecord record = decode_record_header(bytes, k_max_payload_bytes);
    if (record.header_proven) {
      unit_end = std::min(end, begin + record.header.frame_bytes());
    }
    position_ = unit_end;
    if (asked_for(begin, unit_end)) {
      VARVE_TRY(hurt(begin, unit_end));
    }
  }
  return {};
}

Result<void> SegmentExplainer::hurt(std::uint64_t begin, std::uint64_t end) {
  const Refusal* refusal = refusal_at(begin);
  const std::string word = refusal != nullptr ? refusal->word : "not understood";
  const std::string message =
      refusal != nullptr ? refusal->message : "bytes that belong to no unit that can be proven";
  const std::uint64_t length = end - begin;
  VARVE_ASSIGN(const ByteSpan head, at(begin, k_footer_bytes));
  // A copy: the search for stale records moves the window.
  const Bytes copy(head.begin(), head.begin() + static_cast<std::ptrdiff_t>(
                                                    std::min<std::uint64_t>(head.size(), length)));
  const ByteSpan bytes(copy);
  const std::string_view magic = base::as_text(bytes.first(std::min<std::size_t>(4, bytes.size())));
  const bool is_record = magic == k_record_magic;
  const bool is_footer = magic == k_footer_magic;
  if (!is_record && !is_footer) {
    VARVE_ASSIGN(auto stale, stale_records(begin, end));
    rows_.stretch(begin, bytes, length, 0, "unreadable", word, message, Check::fails,
                  std::move(stale));
    return {};
  }
  rows_.container(begin, length, 0, is_record ? "record" : "footer", word, message, Check::fails);
  const std::size_t fixed =
      std::min(bytes.size(), is_record ? k_record_header_bytes : k_footer_bytes);
  is_record ? rows_.fields(k_record_fields, begin, bytes.first(fixed), 1)
            : rows_.fields(k_footer_fields, begin, bytes.first(fixed), 1);
  if (length > fixed) {
    VARVE_ASSIGN(auto stale, stale_records(begin + fixed, end));
    rows_.stretch(begin + fixed, bytes.subspan(fixed), length - fixed, 1, "rest", "",
                  is_record ? "payload and record_crc, as far as they are there" : "behind it",
                  Check::none, std::move(stale));
  }
  return {};
}

Result<std::vector<ByteMark>> SegmentExplainer::stale_records(std::uint64_t begin,
                                                              std::uint64_t end) {
  std::vector<ByteMark> out;
  while (begin < end && out.size() < k_most_stale_records) {
    VARVE_ASSIGN(const auto found, find_record_header(window_, begin, end, k_max_payload_bytes));
    if (!found) {
      break;
    }
    VARVE_ASSIGN(const ByteSpan head, at(*found, k_record_header_bytes));
    const DecodedRecord plausible = decode_record_header(head, k_max_payload_bytes);
    const std::uint64_t bytes = plausible.header.frame_bytes();
    begin = *found + 1;
    if (!plausible.header_proven || bytes > end - *found || bytes > stale_budget_bytes_) {
      continue;
    }
    stale_budget_bytes_ -= bytes;
    VARVE_ASSIGN(const ByteSpan frame, at(*found, static_cast<std::size_t>(bytes)));
    if (decode_record(frame, k_max_payload_bytes).status != RecordStatus::record) {
      continue;
    }
    out.push_back({ByteMark::Kind::stale, *found, bytes,
                   "record, seq " + std::to_string(plausible.header.sequence)});
    begin = *found + bytes;
  }
  return out;
}

Result<void> SegmentExplainer::records(const io::File& file, const LogRun& run) {
  position_ = run.end;
  if (!asked_for(run.begin, run.end)) {
    return {};
  }
  VARVE_TRY(read_run(file, run, bytes_));
  for_each_record(bytes_, run.begin,
                  [this](const RecordHeader& header, std::uint64_t offset, ByteSpan payload) {
                    if (asked_for(offset, offset + header.frame_bytes())) {
                      record(header, offset, payload);
                    }
                    return !rows_.stopped();
                  });
  return {};
}

void SegmentExplainer::record(const RecordHeader& header, std::uint64_t offset, ByteSpan payload) {
  const Refusal* refusal = refusal_at(offset);
  std::string value = "seq " + std::to_string(header.sequence);
  const std::string_view name = meaning_.name(header.type);
  value += name.empty() ? ", type " + std::to_string(header.type) : ", " + std::string(name);
  rows_.container(offset, header.frame_bytes(), 0, "record", std::move(value),
                  refusal != nullptr ? refusal->message : "",
                  refusal != nullptr ? Check::fails : Check::holds);
  rows_.fields(k_record_fields, offset,
               ByteSpan(payload.data() - k_record_header_bytes, k_record_header_bytes), 1);
  explain_payload(header, offset + k_record_header_bytes, payload);
  const std::uint64_t trailer = offset + header.frame_bytes() - k_record_trailer_bytes;
  rows_.bytes(trailer, ByteSpan(payload.data() + payload.size(), k_record_trailer_bytes),
              k_record_trailer_bytes, 1, k_record_trailer_fields[0].name,
              to_text(Number::hex32(base::u32be(payload.data() + payload.size()))),
              k_record_trailer_fields[0].meaning, Check::holds);
}

void SegmentExplainer::explain_payload(const RecordHeader& header, std::uint64_t offset,
                                       ByteSpan payload) {
  if (payload.empty()) {
    return;
  }
  Event event;
  const bool decodes = meaning_.read(header, payload, event);
  rows_.container(offset, payload.size(), 1, "payload", decodes ? "decodes" : "does not decode", "",
                  decodes ? Check::holds : Check::none);
  const std::size_t prefix =
      meaning_.version == 2 && decodes ? v2_prefix_bytes(header.type, payload) : 0;
  if (prefix != 0) {
    explain_v2_prefix(rows_, offset, header.type, payload.first(prefix), 2);
  }
  if (decodes || !check_value(payload, meaning_.budget)) {
    rows_.value(offset + prefix, payload.subspan(prefix), 2, "event");
  } else {
    rows_.bytes(offset, payload, payload.size(), 2, "bytes", "", "not one canonical value",
                Check::fails);
  }
}

}  // namespace varve::tay
