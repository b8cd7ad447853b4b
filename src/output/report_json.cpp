// SPDX-License-Identifier: MIT OR Apache-2.0
#include "output/report_json.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/bytes.hpp"
#include "base/text_coding.hpp"
#include "output/explain_marks.hpp"

namespace varve::output {

namespace {

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json text_or_null(const std::string& value) { return value.empty() ? Json() : Json(value); }

Json records(std::uint64_t count) { return Json::object().set("records", count); }

}  // namespace

Json error_json(const Error& error, int exit_code) {
  Json json = Json::object();
  json.set("schema", "varve.error/1")
      .set("path", text_or_null(error.path))
      .set("code", varve::to_text(error.code))
      .set("reason", text_or_null(error.reason))
      .set("exit_code", exit_code)
      .set("message", error.message.empty() ? error.reason : error.message)
      .set("offset", error.offset)
      .set("length", error.length)
      .set("unit", text_or_null(error.unit))
      .set("expected", Json(error.expected))
      .set("actual", Json(error.actual))
      .set("errno", error.system_errno != 0 ? Json(error.system_errno) : Json());
  return json;
}

Json info_json(const StoreInfo& info) {
  Json json = Json::object();
  json.set("schema", "varve.info/1")
      .set("format", info.format)
      .set("version", info.version)
      .set("path", info.path)
      .set("bytes", info.bytes)
      .set("bytes_allocated", info.bytes_allocated)
      .set("segments", info.segments)
      .set("units", or_null(info.units))
      .set("records", or_null(info.records))
      .set("first_seq", or_null(info.first_seq))
      .set("last_seq", or_null(info.last_seq))
      .set("first_time", or_null(info.first_time_us))
      .set("last_time", or_null(info.last_time_us))
      .set("sealed", or_null(info.sealed))
      .set("compression_ratio", or_null(info.compression_ratio))
      .set("tail", text_or_null(info.tail))
      .set("detail", info.detail);
  return json;
}

Json finding_json(const Finding& finding) {
  Json json = Json::object();
  json.set("severity", varve::to_text(finding.severity))
      .set("verdict",
           finding.severity == Severity::error ? Json(varve::to_text(finding.verdict)) : Json())
      .set("code", finding.code);
  if (!finding.kind.empty()) {
    json.set("kind", finding.kind);
  }
  if (!finding.stage.empty()) {
    json.set("stage", finding.stage);
  }
  json.set("file", finding.file)
      .set("offset", finding.offset)
      .set("length", finding.length)
      .set("unit", text_or_null(finding.unit))
      .set("index", or_null(finding.index))
      .set("expected", Json(finding.expected))
      .set("actual", Json(finding.actual))
      .set("message", finding.message);
  return json;
}

Finding truncation_finding(const FindingList& findings) {
  Finding finding;
  finding.severity = Severity::note;
  finding.code = "findings_truncated";
  finding.message = fmt::format(
      "{} findings are listed of {}: {} errors, {} warnings, {} notes; --max-findings lists more",
      findings.findings().size(), findings.total(), findings.errors(), findings.warnings(),
      findings.notes());
  return finding;
}

Json findings_json(std::span<const Finding> findings) {
  Json list = Json::array();
  for (const Finding& finding : findings) {
    list.push(finding_json(finding));
  }
  return list;
}

Json findings_json(const FindingList& findings) {
  Json list = findings_json(findings.findings());
  if (findings.truncated()) {
    list.push(finding_json(truncation_finding(findings))
                  .set("totals", Json::object()
                                     .set("errors", findings.errors())
                                     .set("warnings", findings.warnings())
                                     .set("notes", findings.notes())));
  }
  return list;
}

Json verify_json(const VerifyReport& report, const FindingList& findings, double elapsed_s) {
  Json json = Json::object();
  json.set("schema", "varve.verify/1")
      .set("path", report.path)
      .set("format", report.format)
      .set("version", report.version)
      .set("verdict", varve::to_text(report.verdict))
      .set("counts", Json::object()
                         .set("files", report.counts.files)
                         .set("segments", report.counts.segments)
                         .set("units", report.counts.units)
                         .set("records", report.counts.records)
                         .set("bytes", report.counts.bytes))
      .set("intact", records(report.intact_records))
      .set("lost", records(report.lost_records))
      .set("unknown", records(report.unknown_records));
  if (!report.segments.empty()) {
    Json segments = Json::array();
    for (const SegmentVerdict& segment : report.segments) {
      segments.push(
          Json::object().set("name", segment.name).set("verdict", varve::to_text(segment.verdict)));
    }
    json.set("segments", std::move(segments));
  }
  const ReceiptUse& use = report.receipt_use;
  if (use.parts != 0 || !use.reasons.empty()) {
    Json reasons = Json::array();
    for (const std::string& reason : use.reasons) {
      reasons.push(reason);
    }
    json.set("receipt", Json::object()
                            .set("parts", use.parts)
                            .set("parts_taken", use.parts_taken)
                            .set("bytes_taken", use.bytes_taken)
                            .set("bytes_read", report.counts.bytes)
                            .set("reasons", std::move(reasons)));
  }
  json.set("findings", findings_json(findings))
      .set("elapsed_s", elapsed_s)
      .set("bytes_per_s", static_cast<double>(report.counts.bytes) / elapsed_s);
  return json;
}

std::string_view to_text(ExplainRow::Check check) {
  switch (check) {
    case ExplainRow::Check::none:
      return "none";
    case ExplainRow::Check::holds:
      return "holds";
    case ExplainRow::Check::fails:
      return "fails";
  }
  return "none";
}

Json explain_row_json(const ExplainRow& row) {
  Json json = Json::object();
  json.set("file", row.file)
      .set("offset", row.offset)
      .set("length", row.length)
      .set("depth", row.depth)
      .set("container", row.container)
      .set("field", row.field)
      .set("value", row.value)
      .set("meaning", row.meaning)
      .set("raw", base::to_hex(base::as_bytes(row.raw)))
      .set("check", row.check == ExplainRow::Check::none ? Json() : Json(to_text(row.check)))
      .set("class", to_text(row.sort));
  Json marks = Json::array();
  for (const ByteMark& mark : row.marks) {
    marks.push(Json::object()
                   .set("kind", to_text(mark.kind))
                   .set("offset", mark.offset)
                   .set("length", mark.length)
                   .set("text", mark.text));
  }
  json.set("marks", std::move(marks));
  return json;
}

Json stats_json(const std::string& path, std::string_view format, const StatsReport& report,
                const FindingList& findings) {
  Json list = Json::array();
  for (const Distribution& distribution : report.distributions) {
    Json json = Json::object();
    json.set("name", distribution.name).set("unit", text_or_null(distribution.unit));
    if (distribution.categories.empty()) {
      json.set("count", distribution.count)
          .set("sum", distribution.sum)
          .set("minimum", distribution.minimum)
          .set("maximum", distribution.maximum)
          .set("p50", distribution.p50)
          .set("p90", distribution.p90)
          .set("p99", distribution.p99)
          .set("by_bit_width", Json(Json::Array(distribution.by_bit_width.begin(),
                                                distribution.by_bit_width.end())));
    } else {
      Json categories = Json::array();
      for (const Distribution::Category& category : distribution.categories) {
        categories.push(Json::object()
                            .set("name", category.name)
                            .set("count", category.count)
                            .set("bytes", category.bytes));
      }
      json.set("categories", std::move(categories));
    }
    list.push(std::move(json));
  }
  Json json = Json::object();
  json.set("schema", "varve.stats/1")
      .set("path", path)
      .set("format", format)
      .set("distributions", std::move(list))
      .set("findings", findings_json(findings));
  return json;
}

Json write_json(std::string_view verb, const std::string& path, std::string_view format,
                const WriteReport& report) {
  Json actions = Json::array();
  for (const WriteReport::Action& action : report.actions) {
    actions.push(Json::object()
                     .set("file", action.file)
                     .set("what", action.what)
                     .set("offset", action.offset)
                     .set("length", action.length));
  }
  Json json = Json::object();
  json.set("schema", "varve.write/1")
      .set("verb", verb)
      .set("path", path)
      .set("format", format)
      .set("dry_run", report.dry_run)
      .set("actions", std::move(actions))
      .set("detail", report.detail);
  return json;
}

}  // namespace varve::output
