// SPDX-License-Identifier: MIT OR Apache-2.0
// The live producer (section 15): decides events by the rules of replay, puts them into the log and
// applies them. One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tay/log_writer.hpp"
#include "tay/ready_index.hpp"
#include "varve/tay_job.hpp"

namespace varve::tay {

// Jobs are named by their index in jobs().jobs(), which never changes. What a call adds waits in
// the log until commit(); the table is ahead by as much. A call that is refused changes nothing.
// After a failed commit the table is worth nothing.
class JobEngine {
 public:
  using Index = std::uint32_t;

  // `jobs` keeps definitions and is what replaying the log gave.
  JobEngine(JobTable jobs, LogWriter writer, const InsertionLimits& limits);

  struct Insertion {
    Index job = 0;
    bool existed = false;
  };
  // `definition`: the canonical map.
  Result<Insertion> insert(const Id& id, ByteSpan definition);
  // The first job of the queue that may start now; what became due is made available before.
  Result<std::optional<Index>> next_ready(std::string_view queue_key);
  Result<void> start(Index job);
  // `execution`: of the run that ends.
  Result<void> finish(Index job, std::uint64_t execution, Outcome outcome, Failure failure);
  Result<void> cancel(Index job);
  Result<void> retry(Index job);
  Result<std::uint64_t> make_due_available();
  // Every executing job was interrupted (after activation, before anything else). Commits.
  Result<std::uint64_t> settle();

  // An event as a whole, from elsewhere: `invalid_transition` unless it may follow, and for an
  // insertion the limits of the retained jobs. `payload` is its encoding, which the event's spans
  // lie in.
  Result<RecordPlace> take(const Event& event, ByteSpan payload);

  Result<std::optional<Index>> find(const Id& id) const;
  const Job& job(Index index) const { return jobs_.jobs()[index]; }
  const JobTable& jobs() const { return jobs_; }
  const ReadyIndex& ready() const { return ready_; }
  LogWriter& writer() { return writer_; }
  const LogWriter& writer() const { return writer_; }

 private:
  std::uint64_t now_ms() const;
  std::uint64_t draw(std::uint64_t most) const;
  std::optional<Index> index_of(const Id& id) const;
  Result<void> emit(Event& event, const Job& job);
  Result<void> check_insertion(const Event& event, std::size_t payload_bytes) const;
  Result<void> check_retained(const DefinitionView& definition) const;
  std::uint64_t executing() const;

  JobTable jobs_;
  LogWriter writer_;
  InsertionLimits limits_;
  ReadyIndex ready_;
  Bytes payload_;  // used again
};

// The definition as canonical bytes. ErrorCode::invalid_argument, reason `invalid_definition`.
Result<Bytes> encode_job_definition(const JobDefinition& definition);
// A job as a program sees it.
JobInfo job_info(const JobTable& jobs, const Job& job);

}  // namespace varve::tay
