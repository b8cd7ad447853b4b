// SPDX-License-Identifier: MIT OR Apache-2.0
#include "output/unit_index.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace varve::output {

namespace {

// Formats have a dozen kinds; hostile bytes must not make more of them.
constexpr std::size_t k_most_kinds = 200;
constexpr std::size_t k_most_files = 100'000;

std::uint64_t end_of(const UnitIndex::File& file, std::size_t unit) {
  return unit + 1 < file.units.size() ? file.units[unit + 1].offset : file.bytes;
}

}  // namespace

const UnitIndex::File* UnitIndex::find(const std::string& name) const {
  const auto found = std::ranges::find(files_, name, &File::name);
  return found == files_.end() ? nullptr : &*found;
}

std::vector<DrawnStretch> UnitIndex::draw(const File& file, std::uint64_t from, std::uint64_t to,
                                          std::size_t most) {
  std::vector<DrawnStretch> drawn;
  to = std::min(to, file.bytes);
  if (from >= to || file.units.empty() || most == 0) {
    return drawn;
  }
  auto first = std::ranges::upper_bound(file.units, from, {}, &Unit::offset);
  first = first == file.units.begin() ? first : std::prev(first);
  const auto last = std::ranges::lower_bound(file.units, to, {}, &Unit::offset);
  const auto begin = static_cast<std::size_t>(first - file.units.begin());
  const auto end = static_cast<std::size_t>(last - file.units.begin());
  // Each stretch begins in a slice of its own, so that there are no more of them than slices.
  const bool all = end - begin <= most;
  const double slice = static_cast<double>(to - from) / static_cast<double>(most);
  std::size_t slice_before = std::numeric_limits<std::size_t>::max();
  std::array<std::uint64_t, k_most_kinds + 1> bytes_by_kind{};
  for (std::size_t i = begin; i < end; ++i) {
    const Unit& unit = file.units[i];
    const std::uint64_t length = end_of(file, i) - unit.offset;
    const std::uint64_t shown = std::max(unit.offset, from) - from;
    const auto at =
        std::min(most - 1, static_cast<std::size_t>(static_cast<double>(shown) / slice));
    if (all || at != slice_before) {
      slice_before = at;
      bytes_by_kind.fill(0);
      bytes_by_kind[unit.kind] = length;
      drawn.push_back({unit.offset, length, unit.count, unit.kind, false, unit.state});
      continue;
    }
    DrawnStretch& stretch = drawn.back();
    stretch.length += length;
    stretch.units += unit.count;
    stretch.mixed = stretch.mixed || unit.kind != stretch.kind;
    stretch.state = std::max(stretch.state, unit.state);
    bytes_by_kind[unit.kind] += length;
    if (bytes_by_kind[unit.kind] > bytes_by_kind[stretch.kind]) {
      stretch.kind = unit.kind;
    }
  }
  return drawn;
}

std::optional<std::uint64_t> UnitIndex::place_of(const File& file, std::uint16_t kind,
                                                 std::uint64_t number) {
  for (const Unit& unit : file.units) {
    if (unit.count != 1) {
      return std::nullopt;
    }
    if (unit.kind == kind && number-- == 0) {
      return unit.offset;
    }
  }
  return std::nullopt;
}

std::uint16_t UnitCollector::kind_number(std::string kind) {
  auto& kinds = index_.kinds_;
  const auto found = std::ranges::find(kinds, kind);
  if (found != kinds.end()) {
    return static_cast<std::uint16_t>(found - kinds.begin());
  }
  if (kinds.size() == k_most_kinds) {
    kinds.emplace_back("other");
  } else if (kinds.size() < k_most_kinds) {
    kinds.push_back(std::move(kind));
  }
  return static_cast<std::uint16_t>(kinds.size() - 1);
}

bool UnitCollector::add(ExplainRow row) {
  auto& files = index_.files_;
  if (files.empty() || files.back().name != row.file) {
    if (files.size() == k_most_files) {
      return false;
    }
    files.emplace_back().name = row.file;
  }
  UnitIndex::File& file = files.back();
  if (row.depth == 0 && row.offset >= file.bytes) {
    file.units.push_back({row.offset, 1, kind_number(unit_kind(row)), unit_state(row.check)});
    file.bytes = row.offset + row.length;
    ++file.unit_count;
    if (++units_ > most_units_) {
      join_neighbours();
    }
  } else if (row.check == ExplainRow::Check::fails && !file.units.empty()) {
    file.units.back().state = UnitState::hurt;
  }
  return true;
}

// Halves the number of units. Pairs of one kind and state go first; if a store alternates so much
// that this spares little, pairs of any.
void UnitCollector::join_neighbours() {
  for (const bool any : {false, true}) {
    std::size_t units = 0;
    for (UnitIndex::File& file : index_.files_) {
      std::vector<UnitIndex::Unit> joined;
      bool whole = false;  // the last of `joined` has its partner
      for (const UnitIndex::Unit& unit : file.units) {
        const bool partner =
            !joined.empty() && !whole &&
            (any || (joined.back().kind == unit.kind && joined.back().state == unit.state));
        if (partner) {
          joined.back().count += unit.count;
          joined.back().state = std::max(joined.back().state, unit.state);
        } else {
          joined.push_back(unit);
        }
        whole = partner;
      }
      file.units = std::move(joined);
      units += file.units.size();
    }
    units_ = units;
    if (units_ <= most_units_ / 4 * 3) {
      return;
    }
  }
}

UnitIndex UnitCollector::finish(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    const auto file = std::ranges::find(index_.files_, finding.file, &UnitIndex::File::name);
    if (file == index_.files_.end() || file->units.empty() || finding.severity == Severity::note) {
      continue;
    }
    auto unit = std::ranges::upper_bound(file->units, finding.offset, {}, &UnitIndex::Unit::offset);
    unit = unit == file->units.begin() ? unit : std::prev(unit);
    const UnitState state =
        finding.severity == Severity::error ? UnitState::hurt : UnitState::noticed;
    unit->state = std::max(unit->state, state);
  }
  for (UnitIndex::File& file : index_.files_) {
    for (const UnitIndex::Unit& unit : file.units) {
      file.worst = std::max(file.worst, unit.state);
    }
  }
  return std::move(index_);
}

}  // namespace varve::output
