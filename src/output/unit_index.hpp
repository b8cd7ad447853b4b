// SPDX-License-Identifier: MIT OR Apache-2.0
// The units of a store, kept small: what a picture that can be zoomed is drawn from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "output/map_model.hpp"
#include "varve/finding.hpp"
#include "varve/store.hpp"

namespace varve::output {

// A stretch of a file as it is drawn: a unit, or neighbours that are too narrow to be told apart.
struct DrawnStretch {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t units = 0;
  std::uint16_t kind = 0;              // of the greater part of its bytes; see UnitIndex::kinds
  bool mixed = false;                  // it holds units of other kinds too
  UnitState state = UnitState::plain;  // the worst in it
};

class UnitIndex {
 public:
  // A unit whose length is that to the next one; 16 bytes.
  struct Unit {
    std::uint64_t offset = 0;
    std::uint32_t count = 1;  // above 1 where neighbours had to be joined
    std::uint16_t kind = 0;
    UnitState state = UnitState::plain;
  };
  struct File {
    std::string name;  // relative to the store; empty if the store is the file
    std::uint64_t bytes = 0;
    std::uint64_t unit_count = 0;
    UnitState worst = UnitState::plain;
    std::vector<Unit> units;  // ascending, the first at 0
  };

  const std::vector<File>& files() const { return files_; }
  const std::vector<std::string>& kinds() const { return kinds_; }
  // The file of that name, or nullptr.
  const File* find(const std::string& name) const;
  // The units of [from, to) in ascending order, at most `most` stretches (at least 1).
  static std::vector<DrawnStretch> draw(const File& file, std::uint64_t from, std::uint64_t to,
                                        std::size_t most);
  // Where the unit of that kind stands that has that number among its like, counted from 0; nothing
  // if there is none or neighbours were joined before it.
  static std::optional<std::uint64_t> place_of(const File& file, std::uint16_t kind,
                                               std::uint64_t number);

 private:
  friend class UnitCollector;
  std::vector<File> files_;
  std::vector<std::string> kinds_;
};

// Makes the index of the rows of `explain`, and of the findings of a check.
class UnitCollector final : public ExplainSink {
 public:
  // Neighbours are joined where the store has more than `most_units`, those of one kind and state
  // first.
  explicit UnitCollector(std::size_t most_units) : most_units_(most_units) {}
  bool add(ExplainRow row) override;
  UnitIndex finish(const std::vector<Finding>& findings);

 private:
  std::uint16_t kind_number(std::string kind);
  void join_neighbours();

  std::size_t most_units_;
  std::size_t units_ = 0;
  UnitIndex index_;
};

}  // namespace varve::output
