// SPDX-License-Identifier: MIT OR Apache-2.0
// The picture of a store as data: the units of each file, in order, with kind, state and findings.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "varve/finding.hpp"
#include "varve/store.hpp"

namespace varve::output {

enum class UnitState : std::uint8_t {
  plain,    // nothing checks it, or it is not in use
  holds,    // its check holds
  noticed,  // a warning or note is about it
  hurt,     // a check fails, or an error is about it
};
std::string_view to_text(UnitState state);
// The state that a row's check gives its unit.
UnitState unit_state(ExplainRow::Check check);
// What sort of unit a row of depth 0 is: "block 12" is a block; "page 3" of value "data page" is a
// data page.
std::string unit_kind(const ExplainRow& row);

struct MapField {
  unsigned depth = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::string name, value, meaning;
  bool wrong = false;
};

// A unit, or a run of neighbours of one kind and state.
struct MapUnit {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t count = 1;
  std::string kind;   // "record", "block", "frame", "page data page"...
  std::string label;  // of a single one: its name and value
  UnitState state = UnitState::plain;
  std::vector<MapField> fields;  // of a single one, in small stores
  std::vector<Finding> findings;
};

struct MapFile {
  std::string name;  // relative to the store; empty if the store is the file
  std::uint64_t bytes = 0;
  std::vector<MapUnit> units;  // add up to it
};

struct StoreMapPicture {
  std::string path;
  std::string format;
  Verdict verdict = Verdict::clean;
  std::vector<MapFile> files;
  std::vector<Finding> elsewhere;  // about no unit of the picture
};

// Builds the picture of the rows of `explain`. Neighbours of one kind and state are drawn together
// where a file has more than `most_units` of them.
class MapCollector final : public ExplainSink {
 public:
  explicit MapCollector(std::size_t most_units) : most_units_(most_units) {}
  bool add(ExplainRow row) override;
  // With the findings of a check, in their places.
  StoreMapPicture finish(const std::vector<Finding>& findings);

 private:
  void join_neighbours(MapFile& file) const;

  std::size_t most_units_;
  std::size_t fields_ = 0;  // held so far
  StoreMapPicture picture_;
  std::size_t join_at_ = 0;
};

}  // namespace varve::output
