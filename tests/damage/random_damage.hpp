// SPDX-License-Identifier: MIT OR Apache-2.0
// Seeded damage: lines of the language of mutation.hpp, so that whatever they find is one line.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "io/simulated.hpp"
#include "tests/damage/field_path.hpp"

namespace varve::test {

class RandomDamage {
 public:
  // `rows`: the explain rows of the healthy store; may be empty.
  RandomDamage(std::uint64_t seed, io::SimulatedFileSystem& files, const std::string& root,
               std::vector<ExplainRow> rows)
      : random_(seed), rows_(std::move(rows)) {
    const std::vector<std::string> below = files.paths(root);
    for (const std::string& path : below) {
      if (!path.ends_with('/')) {
        members_.push_back({path, files.get(root + "/" + path).value_or(base::Bytes{}).size()});
      }
    }
    if (members_.empty()) {
      members_.push_back({".", files.get(root).value_or(base::Bytes{}).size()});
    }
  }

  // One to three steps.
  std::string line() {
    std::string out = step();
    while (pick(4) == 0) {
      out += "; " + step();
    }
    return out;
  }

 private:
  struct Member {
    std::string name;
    std::uint64_t size = 0;
  };

  std::uint64_t pick(std::uint64_t count) { return count == 0 ? 0 : random_() % count; }
  std::string number(std::uint64_t value) { return std::to_string(value); }

  // Often where a unit begins, since that is where formats are touchy.
  std::uint64_t position(const Member& member) {
    const std::string file = member.name == "." ? "" : member.name;
    if (!rows_.empty() && pick(2) == 0) {
      const ExplainRow& row = rows_[pick(rows_.size())];
      if (row.file == file && row.offset < member.size) {
        return row.offset;
      }
    }
    return pick(member.size + 1);
  }
  std::uint64_t length(std::uint64_t left) {
    static constexpr std::uint64_t k_lengths[] = {1, 4, 8, 16, 64, 512, 4096, 65'536};
    return std::min(left, k_lengths[pick(std::size(k_lengths))]);
  }

  std::string step() {
    const Member& member = members_[pick(members_.size())];
    const std::uint64_t at = position(member);
    const std::string place = " " + member.name + " " + number(at);
    const std::string range = place + " " + number(length(member.size - at));
    switch (pick(14)) {
      case 0:
        return "cut" + place;
      case 1:
        return "zero" + range;
      case 2:
        return "zero-tail " + member.name + " " + number(length(member.size));
      case 3:
        return "extend-zero " + member.name + " " + number(length(65'536));
      case 4:
      case 5:
      case 6:
        return member.size == 0 ? "extend-zero " + member.name + " 1"
                                : "flip " + member.name + " " +
                                      number(std::min(at, member.size - 1)) + "." + number(pick(8));
      case 7:
        return "garbage" + range + " " + number(pick(1000));
      case 8:
        return "stale-tail" + range;
      case 9:
        return "dup" + range;
      case 10:
        return "drop" + range;
      case 11:
        return "empty " + member.name;
      case 12:
        return "write" + place + " hex:ffffffff";
      default:
        return "live " + number(pick(20)) + " cut " + member.name + " " + number(at);
    }
  }

  std::mt19937_64 random_;
  std::vector<ExplainRow> rows_;
  std::vector<Member> members_;
};

}  // namespace varve::test
