// SPDX-License-Identifier: MIT OR Apache-2.0
// `explain`: every byte of every file, unit by unit and field by field, of whole and hurt stores.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "tay/examine.hpp"
#include "tay/explain_rows.hpp"
#include "tay/log_collector.hpp"
#include "tay/replay.hpp"
#include "tay/v2_records.hpp"
#include "tay/value_json.hpp"
#include "tay/view.hpp"

namespace varve::tay {

namespace {

using Check = ExplainRow::Check;

// Explains one segment from the runs that a log pass proved.
class SegmentExplainer {
 public:
  SegmentExplainer(const Segment& segment, std::string name, std::vector<Refusal> refusals,
                   const RecordMeaning& meaning, std::optional<std::uint64_t> only,
                   ExplainSink& sink)
      : segment_(segment),
        refusals_(std::move(refusals)),
        meaning_(meaning),
        only_(only),
        rows_(std::move(name), sink) {}

  Result<void> run(const io::File& file) {
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
  bool stopped() const { return rows_.stopped(); }

 private:
  bool asked_for(std::uint64_t begin, std::uint64_t end) const {
    return !rows_.stopped() && (!only_ || (*only_ >= begin && *only_ < end));
  }
  Result<ByteSpan> at(std::uint64_t offset, std::size_t length) {
    VARVE_ASSIGN(const ByteSpan view, window_.view(offset, length));
    return view.first(std::min(view.size(), length));
  }
  const Refusal* refusal_at(std::uint64_t offset) const {
    const auto found = std::ranges::find_if(
        refusals_, [offset](const Refusal& refusal) { return refusal.offset == offset; });
    return found == refusals_.end() ? nullptr : &*found;
  }

  Result<void> header() {
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

  Result<void> footer() {
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

  // What lies between the last unit that was understood and the next one.
  Result<void> gap(std::uint64_t end) {
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

  Result<void> hurt(std::uint64_t begin, std::uint64_t end) {
    const Refusal* refusal = refusal_at(begin);
    const std::string word = refusal != nullptr ? refusal->word : "not understood";
    const std::string message =
        refusal != nullptr ? refusal->message : "bytes that belong to no unit that can be proven";
    const std::uint64_t length = end - begin;
    VARVE_ASSIGN(const ByteSpan head, at(begin, k_footer_bytes));
    const ByteSpan bytes =
        head.first(static_cast<std::size_t>(std::min<std::uint64_t>(head.size(), length)));
    const std::string_view magic =
        base::as_text(bytes.first(std::min<std::size_t>(4, bytes.size())));
    const bool is_record = magic == k_record_magic;
    const bool is_footer = magic == k_footer_magic;
    if (!is_record && !is_footer) {
      rows_.bytes(begin, bytes, length, 0, "unreadable", word, message, Check::fails);
      return {};
    }
    rows_.container(begin, length, 0, is_record ? "record" : "footer", word, message, Check::fails);
    const std::size_t fixed =
        std::min(bytes.size(), is_record ? k_record_header_bytes : k_footer_bytes);
    is_record ? rows_.fields(k_record_fields, begin, bytes.first(fixed), 1)
              : rows_.fields(k_footer_fields, begin, bytes.first(fixed), 1);
    if (length > fixed) {
      rows_.bytes(begin + fixed, bytes.subspan(fixed), length - fixed, 1, "rest", "",
                  is_record ? "payload and record_crc, as far as they are there" : "behind it",
                  Check::none);
    }
    return {};
  }

  Result<void> records(const io::File& file, const LogRun& run) {
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

  void record(const RecordHeader& header, std::uint64_t offset, ByteSpan payload) {
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

  void explain_payload(const RecordHeader& header, std::uint64_t offset, ByteSpan payload) {
    if (payload.empty()) {
      return;
    }
    Event event;
    const bool decodes = meaning_.read(header, payload, event);
    rows_.container(offset, payload.size(), 1, "payload", decodes ? "decodes" : "does not decode",
                    "", decodes ? Check::holds : Check::none);
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

  const Segment& segment_;
  std::vector<Refusal> refusals_;
  const RecordMeaning& meaning_;
  std::optional<std::uint64_t> only_;
  RowWriter rows_;
  Window window_;
  Bytes bytes_;
  std::uint64_t position_ = 0;
};

std::span<const FieldSpec> marker_fields(std::string_view name) {
  if (name == k_store_name) return k_store_fields;
  if (name == k_current_name) return k_current_fields;
  if (name.ends_with(k_manifest_name)) return k_manifest_fields;
  return k_marker_fields;
}

std::size_t fixed_bytes(std::span<const FieldSpec> fields) {
  return static_cast<std::size_t>(fields.back().offset + fields.back().length);
}

bool explain_marker(const Snapshot::Marker& marker, const Refusal* refusal,
                    const EventBudget& budget, ExplainSink& sink) {
  RowWriter rows(marker.name, sink);
  const std::uint64_t size = marker.identity.size_bytes;
  const auto fields = marker_fields(marker.name);
  rows.container(0, size, 0, marker.name, refusal != nullptr ? refusal->word : "",
                 refusal != nullptr ? refusal->message : "",
                 refusal != nullptr ? Check::fails : Check::holds);
  const std::size_t fixed = std::min(marker.bytes.size(), fixed_bytes(fields));
  rows.fields(fields, 0, ByteSpan(marker.bytes).first(fixed), 1);
  ByteSpan rest = ByteSpan(marker.bytes).subspan(fixed);
  std::uint64_t at = fixed;
  if (marker.name.ends_with(k_manifest_name) && rest.size() > 4 &&
      !check_value(rest.first(rest.size() - 4), budget)) {
    rows.value(at, rest.first(rest.size() - 4), 1, "map");
    at += rest.size() - 4;
    rest = rest.last(4);
    const bool holds = base::crc32c(ByteSpan(marker.bytes).first(marker.bytes.size() - 4)) ==
                       base::u32be(rest.data());
    rows.bytes(at, rest, 4, 1, "crc", to_text(Number::hex32(base::u32be(rest.data()))),
               "CRC-32C over all before it", holds ? Check::holds : Check::fails);
    at += 4;
    rest = {};
  }
  if (at < size) {
    rows.bytes(at, rest, size - at, 1, "trailing bytes", "", "behind the end of the object",
               Check::fails);
  }
  return !rows.stopped();
}

}  // namespace

Result<ScanSummary> View::explain(const ExplainRequest& request, ExplainSink& sink,
                                  FindingSink& findings) {
  ScanSummary summary;
  std::map<std::string, std::vector<Refusal>> refusals;  // by file
  ExamineRequest examine_with = examine_request(options_.threads);
  examine_with.refused = [&](const Refusal& refusal) {
    findings.add(to_finding(refusal));
    if (refusals[refusal.file].size() < 10'000) {
      refusals[refusal.file].push_back(refusal);
    }
  };
  VARVE_ASSIGN(const Examination found, examine(snapshot_, examine_with));
  summary.verdict = found.verdict();
  const auto asked = [&](const std::string& name) {
    return request.file.empty() || request.file == name ||
           (name.size() > request.file.size() && name.ends_with("/" + request.file));
  };
  bool any = false;
  for (const Snapshot::Marker& marker : snapshot_.markers) {
    if (asked(marker.name) && !request.offset.has_value()) {
      any = true;
      const auto& told = refusals[marker.name];
      if (!explain_marker(marker, told.empty() ? nullptr : &told.front(), budgets_.budgets.event,
                          sink)) {
        return summary;
      }
    } else if (asked(marker.name) && !request.file.empty()) {
      any = true;
      explain_marker(marker, nullptr, budgets_.budgets.event, sink);
    }
  }
  const RecordMeaning meaning{snapshot_.version, budgets_.budgets.event};
  for (const Segment& segment : found.segments) {
    const std::string name = snapshot_.segments_prefix + segment.name;
    if (!asked(name)) {
      continue;
    }
    any = true;
    VARVE_ASSIGN(const auto file,
                 snapshot_.segments_directory->open_file(segment.name, io::OpenMode::read));
    SegmentExplainer explainer(segment, name, std::move(refusals[name]), meaning, request.offset,
                               sink);
    VARVE_TRY(explainer.run(*file));
    if (explainer.stopped()) {
      return summary;
    }
  }
  if (!any) {
    return fail(ErrorCode::invalid_argument, "file",
                "the store has no file '" + request.file + "' to explain", snapshot_.path);
  }
  return summary;
}

}  // namespace varve::tay
