// SPDX-License-Identifier: MIT OR Apache-2.0
// `get`: one record by sequence or place, or one job with its history.
#include <simdjson.h>

#include <utility>

#include "base/whole_number.hpp"
#include "tay/log_scan.hpp"
#include "tay/replay.hpp"
#include "tay/rows.hpp"
#include "tay/state_scan.hpp"
#include "tay/view.hpp"

namespace varve::tay {

namespace {

// What `cat` and `state` print, as a value.
Json json_of(simdjson::dom::element element) {
  using simdjson::dom::element_type;
  switch (element.type()) {
    case element_type::BOOL:
      return element.get_bool().value_unsafe();
    case element_type::INT64:
      return element.get_int64().value_unsafe();
    case element_type::UINT64:
      return element.get_uint64().value_unsafe();
    case element_type::DOUBLE:
      return element.get_double().value_unsafe();
    case element_type::STRING:
      return std::string_view(element.get_string().value_unsafe());
    case element_type::ARRAY: {
      Json out = Json::array();
      const simdjson::dom::array items = element.get_array().value_unsafe();
      for (const simdjson::dom::element item : items) {
        out.push(json_of(item));
      }
      return out;
    }
    case element_type::OBJECT: {
      Json out = Json::object();
      const simdjson::dom::object members = element.get_object().value_unsafe();
      for (const auto [key, value] : members) {
        out.set(std::string(key), json_of(value));
      }
      return out;
    }
    default:
      return {};
  }
}

Json json_of_line(const std::string& line) {
  simdjson::dom::parser parser;
  simdjson::dom::element element;
  if (parser.parse(line).get(element) != simdjson::SUCCESS) {
    return {};
  }
  return json_of(element);
}

// Collects rendered rows, and the raw bytes of the last one.
class RowsInMemory final : public BatchSink {
 public:
  RowsInMemory(const StoreView& view, Face face, const RenderOptions& options,
               std::size_t raw_column)
      : view_(view), face_(face), options_(options), raw_column_(raw_column) {
    options_.int64_as_string = false;  // decided when the document is printed
  }
  Result<bool> consume(Batch batch) override {
    std::string text;
    view_.render(face_, batch, options_, text);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      rows_.push_back(json_of_line(text.substr(at, end - at)));
      at = end + 1;
    }
    raw_ = std::string(batch.columns[raw_column_].bytes(batch.rows - 1));
    return true;
  }
  std::vector<Json>& rows() { return rows_; }
  const std::string& raw() const { return raw_; }

 private:
  const StoreView& view_;
  Face face_;
  RenderOptions options_;
  std::size_t raw_column_;
  std::vector<Json> rows_;
  std::string raw_;
};

std::unexpected<Error> nothing(const std::string& key, const char* what) {
  return fail(ErrorCode::invalid_argument, "not_found", std::string(what) + " '" + key + "'");
}

// "@OFFSET" in a store of one segment, "@SEGMENT:OFFSET", "FILE@OFFSET".
struct Place {
  std::uint64_t segment_id = 0;
  std::uint64_t offset = 0;
};
std::optional<Place> parse_place(std::string_view key, const Snapshot& snapshot) {
  const std::size_t mark = key.find('@');
  if (mark == std::string_view::npos) {
    return std::nullopt;
  }
  std::string_view file = key.substr(0, mark);
  std::string_view where = key.substr(mark + 1);
  Place out;
  if (const std::size_t colon = where.find(':'); file.empty() && colon != std::string_view::npos) {
    const auto id = base::whole_number<std::uint64_t>(where.substr(0, colon));
    if (!id) return std::nullopt;
    out.segment_id = *id;
    where = where.substr(colon + 1);
  } else if (!file.empty()) {
    file = file.substr(file.rfind('/') == std::string_view::npos ? 0 : file.rfind('/') + 1);
    const auto id = segment_id_of(file);
    if (!id) return std::nullopt;
    out.segment_id = *id;
  } else if (snapshot.segments.size() == 1) {
    out.segment_id = snapshot.segments[0].id;
  } else {
    return std::nullopt;
  }
  const auto offset = base::whole_number<std::uint64_t>(where);
  if (!offset) return std::nullopt;
  out.offset = *offset;
  return out;
}

}  // namespace

Result<GetResult> View::get(const std::string& key, const RenderOptions& options,
                            FindingSink& findings) {
  if (const auto id = parse_id(key)) {
    return get_job(key, options, findings);
  }
  ScanRequest request;
  request.threads = 1;
  request.limit = 1;
  std::optional<Place> place;
  if (const auto sequence = base::whole_number<std::uint64_t>(key)) {
    request.predicate.seq_first = request.predicate.seq_last = *sequence;
  } else if ((place = parse_place(key, snapshot_))) {
    VARVE_ASSIGN(const std::optional<std::uint64_t> at,
                 sequence_at(place->segment_id, place->offset));
    if (!at) {
      return nothing(key, "no record that can be proven lies at");
    }
    request.predicate.seq_first = request.predicate.seq_last = *at;
  } else {
    return nothing(key, "a job id of 32 hex digits, a sequence, or @SEGMENT:OFFSET is wanted, not");
  }
  RowsInMemory rows(*this, Face::log, options, k_log_payload);
  VARVE_TRY(scan(request, rows, findings));
  if (rows.rows().empty()) {
    return nothing(key, "there is no record");
  }
  return GetResult{std::move(rows.rows().front()), rows.raw()};
}

// The sequence of the record that holds a byte.
Result<std::optional<std::uint64_t>> View::sequence_at(std::uint64_t segment_id,
                                                       std::uint64_t offset) {
  ExamineRequest request = examine_request(1);
  request.replay = false;
  VARVE_ASSIGN(const Examination found, examine(snapshot_, request));
  for (const Segment& segment : found.segments) {
    if (segment.id != segment_id) {
      continue;
    }
    for (const LogRun& run : segment.runs) {
      if (offset < run.begin || offset >= run.end) {
        continue;
      }
      VARVE_ASSIGN(const auto file,
                   snapshot_.segments_directory->open_file(segment.name, io::OpenMode::read));
      Bytes bytes;
      VARVE_TRY(read_run(*file, run, bytes));
      std::optional<std::uint64_t> sequence;
      for_each_record(bytes, run.begin,
                      [&](const RecordHeader& header, std::uint64_t at, ByteSpan) {
                        sequence = header.sequence;
                        return at + header.frame_bytes() <= offset;
                      });
      return sequence;
    }
  }
  return std::optional<std::uint64_t>();
}

Result<GetResult> View::get_job(const std::string& key, const RenderOptions& options,
                                FindingSink& findings) {
  ScanRequest request;
  request.threads = options_.threads;
  request.predicate.terms.push_back({"job", key});
  request.face = Face::state;
  request.partial = true;
  RowsInMemory job(*this, Face::state, options, k_state_definition);
  VARVE_TRY(scan(request, job, findings));
  if (job.rows().empty()) {
    return nothing(key, "there is no job");
  }
  request.face = Face::log;
  request.partial = false;
  FindingList repeated(0);
  RowsInMemory history(*this, Face::log, options, k_log_payload);
  VARVE_TRY(scan(request, history, repeated));
  Json document = std::move(job.rows().front());
  Json events = Json::array();
  for (Json& row : history.rows()) {
    events.push(std::move(row));
  }
  document.set("history", std::move(events));
  return GetResult{std::move(document), job.raw()};
}

}  // namespace varve::tay
