// SPDX-License-Identifier: MIT OR Apache-2.0
// The jobs that a log adds up to (section 15): every legal transition, and nothing else.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tay/event.hpp"
#include "varve/tay_job.hpp"
#include "varve/tay_options.hpp"

namespace varve::tay {

std::optional<JobState> job_state_of(std::string_view name);
inline bool is_terminal(JobState state) { return state >= JobState::completed; }

// One job. Times that are absent are k_nil; tokens, sequences and attempts that are absent are 0.
struct Job {
  Id id{};
  std::uint64_t revision = 0;
  std::uint64_t cycle = 0;
  std::uint64_t execution = 0;
  std::uint64_t eligible_at = k_nil;
  std::uint64_t available_sequence = 0;
  std::uint64_t inserted_at = 0;
  std::uint64_t attempted_at = k_nil;
  std::uint64_t completed_at = k_nil;
  // Where the canonical definition stands: segment index, offset and length in its file; or chunk
  // and offset in the table's own memory, if it keeps them.
  std::uint32_t definition_segment = 0;
  std::uint32_t definition_offset = 0;
  std::uint32_t definition_length = 0;
  std::uint32_t definition_nodes = 0;
  std::uint32_t attempt = 0;
  std::uint32_t next_attempt = 0;
  std::uint32_t max_attempts = 0;
  std::uint32_t queue = 0;  // see JobTable::text
  std::uint32_t worker = 0;
  JobState state = JobState::scheduled;
  std::uint8_t diagnostic = 0;        // its code; 0 for nil
  std::uint64_t terminal_at = k_nil;  // Store v2: when the job ended

  std::uint64_t charge_bytes() const {
    return 2 * std::uint64_t{definition_length} + 64 * std::uint64_t{definition_nodes} + 2048;
  }
  std::uint64_t charge_nodes() const { return std::uint64_t{definition_nodes} + 64; }
};

// When a retry of attempt `attempt`, finished at `at`, may be due: both ends included.
struct RetryInterval {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};
RetryInterval retry_interval(std::uint32_t attempt, std::uint64_t at);

// Where an event stands. In v1 revision and order both are the record's sequence; in Store v2 they
// are the logical revision and the availability order.
struct EventPlace {
  std::uint64_t revision = 0;
  std::uint64_t order = 0;
  std::uint32_t segment = 0;            // index of the segment
  std::uint32_t definition_offset = 0;  // inserted: of the definition in that file
};

// The jobs by id. Not thread-safe. Uses about 200 bytes a job, and the distinct queue and worker
// keys; definitions stay on disk unless they are to be kept.
class JobTable {
 public:
  explicit JobTable(bool keep_definitions = false);

  // Applies one event. False if the state machine forbids it: nothing has changed then.
  bool apply(const Event& event, const EventPlace& place);

  std::size_t size() const { return jobs_.size(); }
  // In order of insertion. Pointers stay good until the next insertion.
  const std::vector<Job>& jobs() const { return jobs_; }
  const Job* find(const Id& id) const;
  std::string_view text(std::uint32_t key) const { return texts_[key]; }
  // The number that stands for a queue's or worker's key, if any job has it.
  std::optional<std::uint32_t> text_index(std::string_view text) const;
  // The canonical definition, if the table keeps them. Good as long as the table lives.
  ByteSpan definition(const Job& job) const {
    return ByteSpan(chunks_[job.definition_segment])
        .subspan(job.definition_offset, job.definition_length);
  }
  // The indexes of all jobs, sorted by id.
  std::vector<std::uint32_t> sorted() const;

  const std::array<std::uint64_t, k_job_states>& states() const { return states_; }
  std::uint64_t charged_bytes() const { return charged_bytes_; }
  std::uint64_t charged_nodes() const { return charged_nodes_; }

  // Store v2: adds a job as a snapshot gives it; false if the id is there already.
  bool add(Job job, std::string_view queue_key, std::string_view worker_key);

 private:
  bool insert(const Event& event, const EventPlace& place);
  Job* find_mutable(const Id& id);
  std::uint64_t hash(const Id& id) const;
  std::size_t slot_of(const Id& id) const;
  void put(const Job& job);
  void keep(Job& job, ByteSpan definition);
  void grow();
  std::uint32_t intern(std::string_view text);
  void change_state(Job& job, JobState to);

  std::vector<Job> jobs_;
  std::vector<std::uint32_t> slots_;  // index + 1 into jobs_, 0 for free; a power of two of them
  std::array<std::uint64_t, 2> seed_;
  std::array<std::uint64_t, k_job_states> states_{};
  std::uint64_t charged_bytes_ = 0;
  std::uint64_t charged_nodes_ = 0;
  bool keep_definitions_;
  std::vector<Bytes> chunks_;            // kept definitions, one behind the other
  std::vector<std::string_view> texts_;  // views of the keys below
  std::unordered_map<std::string, std::uint32_t> text_index_;
};

// What section 16 says after an event that was applied: the limit that is now exceeded, or nullptr.
const char* exceeded_budget(const JobTable& jobs, const Budgets& budgets);

}  // namespace varve::tay
