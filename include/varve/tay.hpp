// SPDX-License-Identifier: MIT OR Apache-2.0
// A Tay job store to embed: jobs that survive the process and the machine, in the on-disk format
// Store v1. For reading a store without owning it see store.hpp and tay_inspect.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "varve/file_system.hpp"
#include "varve/result.hpp"
#include "varve/tay_job.hpp"
#include "varve/tay_options.hpp"

namespace varve::tay {

struct JobStoreOptions {
  Durability durability = Durability::sync;
  // The active segment is sealed and the next one begun before it would become larger.
  // 16777352..1073741824 bytes.
  std::uint64_t rotation_bytes = 67'108'864;
  Budgets budgets;
  InsertionLimits insertion;
  unsigned threads = 1;                    // of recovery; 0: all cores
  io::Environment* environment = nullptr;  // clock and randomness; null: the system's
};

// The one owner of a store, from recovery to the end. Thread-safe: many threads may call at once,
// and what they bring at the same moment becomes one write, one read-back and one sync.
//
// A call that changes a job returns once the change is durable (Durability::sync), or written and
// read back (Durability::write). If it fails with anything but invalid_argument or limit, whether
// the change is in the log is unknown; the object is then poisoned, and every later call fails with
// ErrorCode::poisoned. Destroy it and open the store again: a change that is found there counts.
//
// Errors of calls: invalid_argument with the reason `unknown_job`, `invalid_transition` (the job's
// state does not allow it, or the execution is not its current one), `conflict` (the id is taken by
// a job of another definition), `invalid_definition`, `job_id`; limit with the word of the budget
// that is reached (retained_jobs, payload_bytes, sequence_exhausted...). None of these changes
// anything.
class JobStore {
 public:
  // Makes a new store in a directory that must not exist, and opens it. With `finish_existing` it
  // may exist if it holds nothing but what an interrupted creation leaves.
  static Result<std::unique_ptr<JobStore>> create(io::FileSystem& files, const std::string& path,
                                                  const JobStoreOptions& options = {},
                                                  bool finish_existing = false);

  // Takes the lock, recovers, activates. Completes a rotation that was interrupted. Jobs that are
  // found executing were interrupted: each is made retryable with the same attempt before anything
  // else happens. ErrorCode::locked if another process owns the store; torn, damaged, unsupported
  // or limit as recovery refuses it, and nothing was changed then.
  static Result<std::unique_ptr<JobStore>> open(io::FileSystem& files, const std::string& path,
                                                const JobStoreOptions& options = {});
  ~JobStore();  // lets go of the lock
  JobStore(const JobStore&) = delete;
  JobStore& operator=(const JobStore&) = delete;

  // A random id.
  JobId new_id();

  struct Insertion {
    JobInfo job;
    bool existed = false;  // a job of that id and the same definition was there: nothing is written
  };
  Result<Insertion> insert(const JobId& id, const JobDefinition& definition);

  // The job of this queue that is to run next, if one is ready: the one eligible first, then the
  // one that became available first. Scheduled and retryable jobs whose time has come are made
  // available before.
  Result<std::optional<JobInfo>> next_ready(std::string_view queue_key);
  // The same, and starts it in the same step. JobInfo::execution names this run in finish().
  Result<std::optional<JobInfo>> start_next(std::string_view queue_key);
  // Starts a job that is available and due.
  Result<JobInfo> start(const JobId& id);

  // Ends the run `execution`. Failure and timeout lead to a retry after a growing delay, or discard
  // the job after its last attempt; an interruption does not count as an attempt. `failure` says
  // more of Outcome::worker_failure.
  Result<JobInfo> finish(const JobId& id, std::uint64_t execution, Outcome outcome,
                         Failure failure = Failure::returned_error);
  // Of any job that has not ended, running or not.
  Result<JobInfo> cancel(const JobId& id);
  // Makes a job available at once: a retryable one now instead of later, a discarded one anew from
  // its first attempt.
  Result<JobInfo> retry(const JobId& id);
  // Makes every scheduled and retryable job available whose time has come; gives their number.
  Result<std::uint64_t> make_due_available();

  // Seals the active segment and begins the next; ErrorCode::invalid_argument, reason
  // `empty_segment`, if it holds no record. Gives the sealed segment's id.
  Result<std::uint64_t> seal();

  // What is durable now. These wait while a batch is being written.
  Result<std::optional<JobInfo>> find(const JobId& id) const;
  Result<std::vector<JobInfo>> jobs() const;  // sorted by id
  Result<std::array<std::uint64_t, k_job_states>> states() const;
  // When the next scheduled or retryable job becomes due, in milliseconds since 1970.
  Result<std::optional<std::uint64_t>> next_due_ms() const;

  // How many jobs open() found executing.
  std::uint64_t settled() const;
  // The sequence of the next record; 0 if the store is exhausted and only to be read.
  std::uint64_t next_sequence() const;
  bool poisoned() const;

 private:
  struct Impl;
  explicit JobStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace varve::tay
