// SPDX-License-Identifier: MIT OR Apache-2.0
// Replay (section 12, Q3): the meaning of records that a log pass has proven.
#pragma once

#include <functional>
#include <optional>
#include <unordered_set>
#include <vector>

#include "tay/job_table.hpp"
#include "tay/log_pass.hpp"

namespace varve::tay {

// One record with its meaning, or with what is wrong with it.
struct ReplayEvent {
  Event event;  // its definition lies in the payload
  std::uint64_t sequence = 0;
  std::uint64_t offset = 0;  // of the record in its file
  std::uint32_t frame_bytes = 0;
  std::uint32_t definition_offset = 0;  // inserted: in the file
  // Not nullptr if the record is refused before any job is looked at.
  const char* word = nullptr;
  RefusalKind kind = RefusalKind::invalid_payload;
};

// Steps 2 to 4 of Q3 on one proven record.
ReplayEvent read_event(const RecordHeader& header, std::uint64_t offset, ByteSpan payload,
                       const EventBudget& budget);

// Step 5, and what follows from a fault. Strict: the first fault is the answer. Otherwise: legal
// events are applied, and illegal ones told as long as the state before them is certain.
class EventJudge {
 public:
  EventJudge(JobTable& jobs, const Budgets& budgets, bool strict)
      : jobs_(jobs), budgets_(budgets), strict_(strict) {}

  // Judges the next record of the log. A refusal says what is wrong with it.
  std::optional<Refusal> judge(const ReplayEvent& event, std::uint32_t segment);
  // Records are missing before the next one: from now on nobody can say what is illegal.
  void gap() { certain_ = false; }

 private:
  struct IdHash {
    std::size_t operator()(const Id& id) const { return base::u64be(id.data()); }
  };
  JobTable& jobs_;
  const Budgets& budgets_;
  bool strict_;
  bool certain_ = true;
  std::unordered_set<Id, IdHash> doubtful_;  // jobs with an illegal event behind them
};

// The bytes of a run, read in blocks that are hashed while they are in the cache.
// ErrorCode::locked, reason "changed", unless they are those that were proven.
Result<void> read_run(const io::File& file, const LogRun& run, Bytes& out);

// Calls `take(header, offset, payload)`, which returns false to stop, for each record of a run.
template <class Take>
void for_each_record(ByteSpan bytes, std::uint64_t begin, Take take) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    const RecordHeader header = load_record_header(bytes.data() + at);
    if (!take(header, begin + at,
              bytes.subspan(at + k_record_header_bytes, header.payload_length))) {
      return;
    }
    at += static_cast<std::size_t>(header.frame_bytes());
  }
}

struct ReplayOptions {
  // Store v2: how many of the segments are base; unset for v1.
  std::optional<std::size_t> v2_base_segments;
  bool strict = true;
  unsigned threads = 1;
  Budgets budgets;
  std::string file_prefix = "segments/";
  std::function<std::optional<Refusal>()> tick;
  // Takes each refusal as it is met; without it they are collected.
  std::function<void(Refusal refusal)> refused;
};

// Reads the runs of `segments` again and applies their records to `jobs`. The bytes must be those
// that the log pass proved, by their CRC; else ErrorCode::locked, reason "changed".
Result<std::vector<Refusal>> replay(const io::Directory& directory,
                                    const std::vector<Segment>& segments,
                                    const ReplayOptions& options, JobTable& jobs);

}  // namespace varve::tay
