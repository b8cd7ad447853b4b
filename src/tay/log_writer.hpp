// SPDX-License-Identifier: MIT OR Apache-2.0
// The one writer of a store that was activated: appending (section 10), sealing and rotation
// (section 11). It owns the lock and the only writable descriptor.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tay/recovery.hpp"

namespace varve::tay {

struct LogWriterOptions {
  Durability durability = Durability::sync;
  // The active segment is rotated before it, with its footer, would become larger. The public
  // entries allow k_min_rotation_bytes to k_max_sealed_bytes; tests use less.
  std::uint64_t rotation_bytes = k_default_rotation_bytes;
  Budgets budgets;
  unsigned threads = 1;                    // of the looks at the whole store around a rotation
  io::Environment* environment = nullptr;  // null: the system's
};

// Where a record stands, or will.
struct RecordPlace {
  std::uint64_t sequence = 0;
  std::uint64_t segment_id = 0;
  std::uint64_t offset = 0;
  std::uint32_t frame_bytes = 0;
};

// Records are added, which touches no file, then committed together: one write, one read-back and
// one sync for as many as fit the segment.
//
// Any failure of a commit, sync or rotation poisons the writer: what of it is in the log is not
// known, and every later call fails with ErrorCode::poisoned. Whoever wants to know must let go of
// the writer and recover. Not thread-safe.
class LogWriter {
 public:
  // `active` is the highest segment of `facts`, open for writing; null if the store is exhausted.
  LogWriter(Ownership owner, const PhysicalFacts& facts, std::unique_ptr<io::File> active,
            const LogWriterOptions& options);

  // Where a record with so many bytes of payload would stand; refused as by add().
  Result<RecordPlace> plan(std::size_t payload_bytes) const;
  // Puts a record behind those that wait. Refused without any trace: ErrorCode::limit, reason
  // `sequence_exhausted` or `segment_ids_exhausted`; ErrorCode::invalid_argument with the word of
  // section 7 for a type, schema or size that no record has.
  Result<RecordPlace> add(std::uint8_t type, std::uint8_t schema, ByteSpan payload);
  // Writes what waits, rotating where it must. With `sync` the records are durable on success,
  // else they survive the process only.
  Result<void> commit(bool sync);
  // The same in the writer's own mode.
  Result<void> commit() { return commit(options_.durability == Durability::sync); }
  // Makes durable what was committed without a sync.
  Result<void> sync();
  // Drops what waits.
  void forget_waiting();

  // Commits, seals the active segment and begins the next one (R0 to R7). ErrorCode::invalid_
  // argument, reason `empty_segment`, if there is no record to seal; ErrorCode::limit if nothing
  // could follow. Gives the id of the sealed segment.
  Result<std::uint64_t> rotate();
  // The first half alone, R0 to R2: afterwards the writer is at its end and only to be let go of.
  Result<void> seal();
  // R3 to R7 for a sealed segment that nothing follows yet (activation).
  Result<void> complete_rotation();

  // Of the next record added; 0: there can be none.
  std::uint64_t next_sequence() const { return next_sequence_; }
  std::size_t waiting_bytes() const { return waiting_.size(); }
  // Of the active segment, without what waits.
  std::uint64_t segment_id() const { return header_.segment_id; }
  std::uint64_t segment_bytes() const { return size_; }
  std::uint64_t segment_records() const { return count_; }
  // Of all segments, with what waits.
  std::uint64_t history_bytes() const;
  bool writable() const { return active_ != nullptr && !poison_; }
  const std::optional<Error>& poison() const { return poison_; }
  const Ownership& owner() const { return owner_; }
  const LogWriterOptions& options() const { return options_; }

 private:
  // Records that wait and go into one segment.
  struct Run {
    std::size_t begin = 0;  // in waiting_
    std::uint64_t count = 0;
    bool rotate_before = false;
  };
  bool rotates(std::uint64_t frame_bytes) const;

  Result<void> check_place() const;
  Result<void> check_size() const;
  Result<void> write_verified(ByteSpan bytes);
  Result<void> write_run(const Run& run, std::size_t end, bool sync);
  Result<void> write_waiting(bool sync);
  Result<void> check_rotation() const;
  Result<PhysicalFacts> look_again();
  Result<void> seal_active();
  Result<void> begin_next();
  Result<void> adopt(std::unique_ptr<io::File> file, const Segment& segment);
  void plan_from_here();
  std::unexpected<Error> poisoned() const;

  // Runs a step that changes files; its failure is final.
  template <class Step>
  auto guarded(Step step) -> decltype(step()) {
    if (poison_) {
      return poisoned();
    }
    auto result = step();
    if (!result) {
      poison(result.error());
    }
    return result;
  }
  void poison(Error& error);

  Ownership owner_;
  LogWriterOptions options_;
  std::optional<Error> poison_;
  // The active segment.
  std::unique_ptr<io::File> active_;
  io::FileIdentity identity_;
  SegmentHeader header_;
  std::uint64_t size_ = 0;
  std::uint64_t count_ = 0;
  std::uint32_t crc_ = 0;  // over [0, size_)
  bool unsynced_ = false;
  std::uint64_t earlier_bytes_ = 0;     // of the segments before it
  std::uint64_t written_sequence_ = 0;  // that follows the last record written; 0: none can
  // With what waits.
  std::uint64_t next_sequence_ = 0;
  std::uint64_t planned_id_ = 0;
  std::uint64_t planned_size_ = 0;
  std::uint64_t planned_count_ = 0;
  std::uint64_t planned_earlier_bytes_ = 0;
  Bytes waiting_;
  std::vector<Run> runs_;
};

}  // namespace varve::tay
