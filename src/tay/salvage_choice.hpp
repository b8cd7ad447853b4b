// SPDX-License-Identifier: MIT OR Apache-2.0
// Which proven records a salvaged store can hold. By default the longest prefix of the log that
// replays, as it stands. With renumbering every event that is legal behind those taken before it:
// its sequence, revision and tokens are then those of the new log.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tay/job_table.hpp"
#include "tay/record.hpp"
#include "tay/replay.hpp"

namespace varve::tay {

struct SalvageChoice {
  bool taken = false;
  const char* reason = "";  // why not
  ByteSpan payload;         // of the new store; good until the next call
  std::string changes;      // renumbering: a line of JSON on what is new in it; else empty
};

class SalvageChooser {
 public:
  SalvageChooser(bool renumber, const EventBudget& budget) : renumber_(renumber), budget_(budget) {}

  // Records in log order. `foreign`: of a segment that belongs to another store.
  SalvageChoice choose(const RecordHeader& header, std::uint64_t offset, ByteSpan payload,
                       bool foreign);
  std::uint64_t taken() const { return next_ - 1; }
  const JobTable& jobs() const { return jobs_; }
  // Events that were taken although an earlier one of their job is missing.
  std::uint64_t bridged() const { return bridged_; }

 private:
  // What a job's revision and tokens are in the log that is read.
  struct Source {
    std::uint64_t revision = 0;
    std::uint64_t cycle = 0;
    std::uint64_t execution = 0;
  };
  SalvageChoice leave(const char* reason);
  SalvageChoice take_prefix(const ReplayEvent& read, ByteSpan payload);
  SalvageChoice take_renumbered(const ReplayEvent& read, ByteSpan payload);
  void follow(const Event& event, std::uint64_t sequence, std::size_t job);

  bool renumber_;
  EventBudget budget_;
  JobTable jobs_;
  std::uint64_t next_ = 1;        // sequence of the next record taken
  const char* behind_ = nullptr;  // the prefix has ended
  std::vector<Source> sources_;   // renumbering: beside jobs_.jobs()
  std::uint64_t bridged_ = 0;
  Bytes payload_;
};

}  // namespace varve::tay
