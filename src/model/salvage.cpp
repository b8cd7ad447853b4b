// SPDX-License-Identifier: MIT OR Apache-2.0
#include "varve/salvage.hpp"

#include <utility>

#include "varve/store.hpp"

namespace varve {

namespace {

Json totals_json(const SalvageTotals& totals) {
  return Json::object().set("records", totals.records).set("bytes", totals.bytes);
}

Json optional_json(const std::optional<std::uint64_t>& value) {
  return value ? Json(*value) : Json();
}

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json range_json(const SalvageRange& range) {
  return Json::object()
      .set("file", range.file)
      .set("offset", range.offset)
      .set("length", range.length)
      .set("fate", to_text(range.fate))
      .set("unit", range.unit)
      .set("records", range.records)
      .set("first_seq", optional_json(range.first_seq))
      .set("last_seq", optional_json(range.last_seq))
      .set("reason", text_or_null(range.reason))
      .set("saved_as", text_or_null(range.saved_as));
}

bool joins(const SalvageRange& before, const SalvageRange& range) {
  return !range.alone && !before.alone && range.records != 0 && before.records != 0 &&
         before.fate == range.fate && before.file == range.file && before.unit == range.unit &&
         before.reason == range.reason && before.saved_as == range.saved_as &&
         before.offset + before.length == range.offset;
}

}  // namespace

std::string_view to_text(Fate fate) {
  switch (fate) {
    case Fate::kept:
      return "kept";
    case Fate::rebuilt:
      return "rebuilt";
    case Fate::set_aside:
      return "set_aside";
    case Fate::lost:
      return "lost";
  }
  return "";
}

SalvageTotals& SalvageReport::totals_of(Fate fate) {
  switch (fate) {
    case Fate::kept:
      return kept;
    case Fate::rebuilt:
      return rebuilt;
    case Fate::set_aside:
      return set_aside;
    case Fate::lost:
      break;
  }
  return lost;
}

void SalvageReport::add(SalvageRange range) {
  SalvageTotals& totals = totals_of(range.fate);
  totals.records += range.records;
  totals.bytes += range.length;
  if (!ranges.empty() && joins(ranges.back(), range)) {
    SalvageRange& before = ranges.back();
    before.length += range.length;
    before.records += range.records;
    before.last_seq = range.last_seq;
    return;
  }
  ranges.push_back(std::move(range));
}

Json to_json(const SalvageReport& report) {
  Json ranges = Json::array();
  for (const SalvageRange& range : report.ranges) {
    ranges.push(range_json(range));
  }
  return Json::object()
      .set("schema", "varve.salvage/1")
      .set("path", report.path)
      .set("format", report.format)
      .set("verdict", to_text(report.verdict))
      .set("rehearsal", report.target.empty())
      .set("target", text_or_null(report.target))
      .set("lost_and_found", text_or_null(report.lost_and_found))
      .set("varve", version())
      .set("kept", totals_json(report.kept))
      .set("rebuilt", Json::object().set("bytes", report.rebuilt.bytes))
      .set("set_aside", totals_json(report.set_aside))
      .set("lost", totals_json(report.lost))
      .set("unknown", Json::object().set("records", report.unknown_records))
      .set("ranges", std::move(ranges))
      .set("detail", report.detail);
}

}  // namespace varve
