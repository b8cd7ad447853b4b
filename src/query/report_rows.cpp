// SPDX-License-Identifier: MIT OR Apache-2.0
#include "query/report_rows.hpp"

#include <initializer_list>
#include <utility>

namespace varve::query {

namespace {

constexpr std::size_t k_batch_rows = 256;

// Collects rows and sends them off in batches.
class Rows {
 public:
  Rows(const Schema& schema, BatchSink& sink) : sink_(sink), builder_(schema) {}

  void text(std::size_t column, std::string_view value) { builder_.add_bytes(column, value); }
  void number(std::size_t column, std::uint64_t value) { builder_.add_u64(column, value); }
  void number(std::size_t column, std::int64_t value) { builder_.add_i64(column, value); }
  // A missing value stays null.
  void text_or_null(std::size_t column, std::string_view value) {
    if (!value.empty()) {
      text(column, value);
    }
  }
  template <class T>
  void number_or_null(std::size_t column, const std::optional<T>& value) {
    if (value) {
      number(column, *value);
    }
  }
  // False: no more rows are wanted, or error() says why there can be none.
  bool end_row() {
    builder_.end_row();
    return builder_.rows() < k_batch_rows || send();
  }
  bool send() {
    if (builder_.rows() == 0) {
      return wanted_;
    }
    rows_ += builder_.rows();
    auto more = sink_.consume(builder_.finish());
    wanted_ = wanted_ && more && *more;
    if (!more) {
      error_ = std::move(more).error();
    }
    return wanted_;
  }
  std::uint64_t rows() const { return rows_; }
  bool wanted() const { return wanted_; }
  Result<ScanSummary> finish(Verdict verdict) {
    send();
    if (error_) {
      return std::unexpected(*error_);
    }
    return ScanSummary{rows_, verdict};
  }

 private:
  BatchSink& sink_;
  BatchBuilder builder_;
  std::uint64_t rows_ = 0;
  bool wanted_ = true;
  std::optional<Error> error_;
};

std::string_view to_text(ExplainRow::Check check) {
  switch (check) {
    case ExplainRow::Check::none:
      break;
    case ExplainRow::Check::holds:
      return "holds";
    case ExplainRow::Check::fails:
      return "fails";
  }
  return {};
}

// Keeps one row a unit: what stands at depth 0. A check that fails inside makes the unit's fail.
class UnitRows final : public ExplainSink {
 public:
  explicit UnitRows(BatchSink& sink) : rows_(unit_schema(), sink) {}
  bool add(ExplainRow row) override {
    if (row.depth == 0) {
      const bool more = flush();
      unit_ = std::move(row);
      return more;
    }
    if (unit_ && row.check == ExplainRow::Check::fails) {
      unit_->check = row.check;
    }
    return rows_.wanted();
  }
  Result<ScanSummary> finish(Verdict verdict) {
    flush();
    return rows_.finish(verdict);
  }

 private:
  bool flush() {
    if (!unit_) {
      return rows_.wanted();
    }
    rows_.text(0, unit_->file);
    rows_.number(1, unit_->offset);
    rows_.number(2, unit_->length);
    rows_.text(3, unit_->field);
    rows_.text_or_null(4, unit_->value);
    rows_.text_or_null(5, unit_->meaning);
    rows_.text_or_null(6, to_text(unit_->check));
    unit_.reset();
    return rows_.end_row();
  }

  Rows rows_;
  std::optional<ExplainRow> unit_;
};

// Findings as rows. What is not wanted any more is dropped; the check goes on to its end.
class FindingRows final : public FindingSink {
 public:
  explicit FindingRows(BatchSink& sink) : rows_(finding_schema(), sink) {}
  void add(Finding finding) override {
    if (!rows_.wanted()) {
      return;
    }
    rows_.text(0, to_text(finding.severity));
    if (finding.severity == Severity::error) {
      rows_.text(1, to_text(finding.verdict));
    }
    rows_.text(2, finding.code);
    rows_.text_or_null(3, finding.kind);
    rows_.text_or_null(4, finding.stage);
    rows_.text(5, finding.file);
    rows_.number(6, finding.offset);
    rows_.number(7, finding.length);
    rows_.text_or_null(8, finding.unit);
    rows_.number_or_null(9, finding.index);
    rows_.text_or_null(10, varve::to_text(finding.expected));
    rows_.text_or_null(11, varve::to_text(finding.actual));
    rows_.text_or_null(12, finding.message);
    rows_.end_row();
  }
  Result<ScanSummary> finish(Verdict verdict) { return rows_.finish(verdict); }

 private:
  Rows rows_;
};

// A number under the first of the names that the object has.
std::optional<std::uint64_t> number_of(const Json& object,
                                       std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const Json* value = object.find(name);
    if (value == nullptr) {
      continue;
    }
    if (const auto* wide = value->as_uint64()) {
      return *wide;
    }
    if (const auto* number = value->as_int64(); number != nullptr && *number >= 0) {
      return static_cast<std::uint64_t>(*number);
    }
  }
  return std::nullopt;
}

std::string name_of(const Json& object) {
  for (const char* name : {"name", "file", "segment"}) {
    const Json* value = object.find(name);
    if (value != nullptr && value->as_text() != nullptr) {
      return *value->as_text();
    }
  }
  return {};
}

// One row for the whole store, where the format has no list of segments.
bool add_whole(Rows& rows, const StoreInfo& info) {
  rows.text(0, "");
  rows.number(1, info.bytes);
  rows.number_or_null(2, info.records);
  rows.number_or_null(3, info.first_seq);
  rows.number_or_null(4, info.last_seq);
  if (info.sealed) {
    rows.text(5, *info.sealed ? "sealed" : "active");
  }
  rows.text(6, info.detail.text());
  return rows.end_row();
}

// Formats name what they know of a segment as their specs do.
bool add_segment(Rows& rows, const Json& segment) {
  rows.text(0, name_of(segment));
  rows.number_or_null(1, number_of(segment, {"bytes"}));
  rows.number_or_null(2, number_of(segment, {"record_count", "event_count", "frames"}));
  rows.number_or_null(3, number_of(segment, {"first_sequence", "min_seq"}));
  rows.number_or_null(4, number_of(segment, {"last_sequence", "max_seq"}));
  if (const Json* state = segment.find("state"); state != nullptr && state->as_text() != nullptr) {
    rows.text(5, *state->as_text());
  }
  rows.text(6, segment.text());
  return rows.end_row();
}

Result<ScanSummary> push_segments(StoreView& view, BatchSink& sink) {
  VARVE_ASSIGN(const StoreInfo info, view.info());
  Rows rows(segment_schema(), sink);
  const Json* segments = info.detail.find("segments");
  if (segments == nullptr || segments->as_array() == nullptr) {
    add_whole(rows, info);
    return rows.finish(Verdict::clean);
  }
  for (const Json& segment : *segments->as_array()) {
    if (!add_segment(rows, segment)) {
      break;
    }
  }
  return rows.finish(Verdict::clean);
}

Result<ScanSummary> push_findings(StoreView& view, unsigned threads, BatchSink& sink) {
  FindingRows rows(sink);
  VerifyRequest request;
  request.threads = threads;
  VARVE_ASSIGN(const VerifyReport report, view.verify(request, rows));
  return rows.finish(report.verdict);
}

Result<ScanSummary> push_units(StoreView& view, BatchSink& sink, FindingSink& findings) {
  UnitRows rows(sink);
  VARVE_ASSIGN(const ScanSummary summary, view.explain(ExplainRequest{}, rows, findings));
  return rows.finish(summary.verdict);
}

Field nullable(const char* name, ColumnType type) {
  return {.name = name, .type = type, .nullable = true};
}
Field present(const char* name, ColumnType type) { return {.name = name, .type = type}; }

}  // namespace

const Schema& unit_schema() {
  using enum ColumnType;
  static const Schema schema{{present("file", text), present("offset", uint64),
                              present("length", uint64), present("unit", text),
                              nullable("value", text), nullable("meaning", text),
                              nullable("checked", text)}};
  return schema;
}

const Schema& segment_schema() {
  using enum ColumnType;
  static const Schema schema{{present("name", text), nullable("bytes", uint64),
                              nullable("records", uint64), nullable("first_seq", uint64),
                              nullable("last_seq", uint64), nullable("state", text),
                              present("detail", text)}};
  return schema;
}

const Schema& finding_schema() {
  using enum ColumnType;
  static const Schema schema{
      {present("severity", text), nullable("verdict", text), present("code", text),
       nullable("kind", text), nullable("stage", text), present("file", text),
       present("offset", uint64), present("length", uint64), nullable("unit", text),
       nullable("index", uint64), nullable("expected", text), nullable("actual", text),
       nullable("message", text)}};
  return schema;
}

RowStream::Work report_work(TableKind kind, StoreView& view, unsigned threads) {
  return [kind, &view, threads](BatchSink& sink, FindingSink& findings) {
    switch (kind) {
      case TableKind::units:
        return push_units(view, sink, findings);
      case TableKind::segments:
        return push_segments(view, sink);
      default:
        return push_findings(view, threads, sink);
    }
  };
}

}  // namespace varve::query
