// SPDX-License-Identifier: MIT OR Apache-2.0
#include "output/map_model.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace varve::output {

namespace {

// More would make the page slow to open.
constexpr std::size_t k_most_fields = 40'000;
constexpr std::size_t k_longest_kind = 24;

bool has_digit(const std::string& text) {
  return std::ranges::any_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

}  // namespace

std::string unit_kind(const ExplainRow& row) {
  std::string kind = row.field;
  const std::size_t end = kind.find_last_not_of("0123456789");
  if (end == std::string::npos || end + 1 == kind.size() || kind[end] != ' ') {
    return kind;
  }
  kind.resize(end);
  const bool says_more = !row.value.empty() && row.value.size() <= k_longest_kind &&
                         !has_digit(row.value) && row.value.find(kind) != std::string::npos;
  return says_more ? row.value : kind;
}

UnitState unit_state(ExplainRow::Check check) {
  switch (check) {
    case ExplainRow::Check::none:
      break;
    case ExplainRow::Check::holds:
      return UnitState::holds;
    case ExplainRow::Check::fails:
      return UnitState::hurt;
  }
  return UnitState::plain;
}

std::string_view to_text(UnitState state) {
  switch (state) {
    case UnitState::plain:
      return "plain";
    case UnitState::holds:
      return "holds";
    case UnitState::noticed:
      return "noticed";
    case UnitState::hurt:
      return "hurt";
  }
  return "";
}

bool MapCollector::add(ExplainRow row) {
  if (picture_.files.empty() || picture_.files.back().name != row.file) {
    picture_.files.push_back({row.file, 0, {}});
    join_at_ = 2 * most_units_;
  }
  MapFile& file = picture_.files.back();
  if (row.depth == 0 && row.offset >= file.bytes) {
    MapUnit unit;
    unit.offset = row.offset;
    unit.length = row.length;
    unit.kind = unit_kind(row);
    unit.label = row.value.empty() ? row.field : row.field + ": " + row.value;
    unit.state = unit_state(row.check);
    file.bytes = row.offset + row.length;
    file.units.push_back(std::move(unit));
    if (file.units.size() > join_at_) {
      join_neighbours(file);
      join_at_ = std::max(join_at_, file.units.size() + most_units_);
    }
    return true;
  }
  if (file.units.empty()) {
    return true;
  }
  MapUnit& unit = file.units.back();
  if (row.check == ExplainRow::Check::fails) {
    unit.state = UnitState::hurt;
  }
  if (unit.count == 1 && fields_ < k_most_fields) {
    ++fields_;
    unit.fields.push_back({row.depth, row.offset, row.length, std::move(row.field),
                           std::move(row.value), std::move(row.meaning),
                           row.check == ExplainRow::Check::fails});
  }
  return true;
}

void MapCollector::join_neighbours(MapFile& file) const {
  std::vector<MapUnit> joined;
  for (MapUnit& unit : file.units) {
    const bool same = !joined.empty() && joined.back().kind == unit.kind &&
                      joined.back().state == unit.state && joined.back().findings.empty() &&
                      unit.findings.empty() && unit.state != UnitState::hurt &&
                      joined.back().offset + joined.back().length == unit.offset;
    if (!same) {
      joined.push_back(std::move(unit));
      continue;
    }
    MapUnit& before = joined.back();
    before.length += unit.length;
    before.count += unit.count;
    before.label = std::to_string(before.count) + " of " + before.kind;
    before.fields.clear();
  }
  file.units = std::move(joined);
}

StoreMapPicture MapCollector::finish(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    const auto file = std::ranges::find(picture_.files, finding.file, &MapFile::name);
    if (file == picture_.files.end() || file->units.empty()) {
      picture_.elsewhere.push_back(finding);
      continue;
    }
    auto unit = std::ranges::upper_bound(file->units, finding.offset, {}, &MapUnit::offset);
    unit = unit == file->units.begin() ? unit : std::prev(unit);
    if (finding.severity == Severity::error) {
      unit->state = UnitState::hurt;
    } else if (unit->state != UnitState::hurt && finding.severity == Severity::warning) {
      unit->state = UnitState::noticed;
    }
    unit->findings.push_back(finding);
  }
  for (MapFile& file : picture_.files) {
    if (file.units.size() > most_units_) {
      join_neighbours(file);
    }
  }
  return std::move(picture_);
}

}  // namespace varve::output
