// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/log_writer.hpp"

#include <utility>

#include "base/checksum.hpp"
#include "base/mutant.hpp"
#include "io/group_commit.hpp"
#include "tay/record.hpp"
#include "tay/refusal.hpp"

namespace varve::tay {

namespace {

std::unexpected<Error> exhausted(const char* word, const char* message) {
  return fail(ErrorCode::limit, word, message);
}

std::unexpected<Error> changed(const io::File& file, const char* message) {
  return fail(ErrorCode::locked, "owner_lost", message, file.path());
}

}  // namespace

LogWriter::LogWriter(Ownership owner, const PhysicalFacts& facts, std::unique_ptr<io::File> active,
                     const LogWriterOptions& options)
    : owner_(std::move(owner)), options_(options), active_(std::move(active)) {
  if (options_.environment == nullptr) {
    options_.environment = &io::system_environment();
  }
  const Segment& highest = facts.segments.back();
  identity_ = highest.identity;
  header_ = *highest.header;
  size_ = highest.bytes();
  count_ = highest.records;
  crc_ = highest.crc;
  earlier_bytes_ = facts.segment_bytes() - size_;
  written_sequence_ = facts.totals.next_sequence;
  plan_from_here();
}

void LogWriter::plan_from_here() {
  waiting_.clear();
  runs_.clear();
  next_sequence_ = written_sequence_;
  planned_id_ = header_.segment_id;
  planned_size_ = size_;
  planned_count_ = count_;
  planned_earlier_bytes_ = earlier_bytes_;
}

void LogWriter::forget_waiting() { plan_from_here(); }

std::uint64_t LogWriter::history_bytes() const { return planned_earlier_bytes_ + planned_size_; }

void LogWriter::poison(Error& error) {
  if (!error.message.empty()) {
    error.message += "; ";
  }
  error.message += "what of it is in the log is unknown: reopen the store and look";
  poison_ = error;
  waiting_.clear();
  runs_.clear();
}

std::unexpected<Error> LogWriter::poisoned() const {
  return fail(ErrorCode::poisoned, "poisoned",
              "an earlier write failed (" + poison_->text() + "); reopen the store and look",
              poison_->path);
}

bool LogWriter::rotates(std::uint64_t frame_bytes) const {
  return planned_count_ > 0 &&
         planned_size_ + frame_bytes + (base::mutant("tay-rotates") ? 0 : k_footer_bytes) >
             options_.rotation_bytes;
}

Result<RecordPlace> LogWriter::plan(std::size_t payload_bytes) const {
  if (poison_) {
    return poisoned();
  }
  if (next_sequence_ == 0 || !active_) {
    return exhausted("sequence_exhausted", "the store can hold no further record");
  }
  if (payload_bytes > k_max_payload_bytes) {
    return fail(ErrorCode::invalid_argument, "payload_length_exceeds_format",
                "a record's payload has at most 16777216 bytes");
  }
  RecordPlace place;
  place.sequence = next_sequence_;
  place.segment_id = planned_id_;
  place.offset = planned_size_;
  place.frame_bytes = static_cast<std::uint32_t>(k_record_frame_bytes + payload_bytes);
  if (rotates(place.frame_bytes)) {
    if (planned_id_ == k_u64_max) {
      return exhausted("segment_ids_exhausted",
                       "the active segment is full and no segment can follow it");
    }
    ++place.segment_id;
    place.offset = k_header_bytes;
  }
  return place;
}

Result<RecordPlace> LogWriter::add(std::uint8_t type, std::uint8_t schema, ByteSpan payload) {
  VARVE_ASSIGN(const RecordPlace place, plan(payload.size()));
  const std::size_t begin = waiting_.size();
  if (const auto fault = encode_record(type, schema, place.sequence, payload, waiting_)) {
    return fail(ErrorCode::invalid_argument, fault->word, "no record can hold this");
  }
  const bool rotates_before = place.segment_id != planned_id_;
  if (rotates_before) {
    planned_earlier_bytes_ += planned_size_ + k_footer_bytes;
    planned_id_ = place.segment_id;
    planned_size_ = k_header_bytes;
    planned_count_ = 0;
  }
  if (rotates_before || runs_.empty()) {
    runs_.push_back({begin, 0, rotates_before});
  }
  ++runs_.back().count;
  ++planned_count_;
  planned_size_ += place.frame_bytes;
  ++next_sequence_;  // 0 behind the last one there is
  return place;
}

// The paths still lead to what is held.
Result<void> LogWriter::check_place() const {
  VARVE_TRY(owner_.check());
  VARVE_ASSIGN(const io::FileIdentity now,
               owner_.segments()->identity_of(segment_name(header_.segment_id)));
  if (!now.same_object(identity_) || now.links != 1) {
    return changed(*active_, "the active segment no longer is the file that was opened");
  }
  return {};
}

// The file ends where the last record did.
Result<void> LogWriter::check_size() const {
  VARVE_ASSIGN(const io::FileIdentity now, active_->identity());
  if (now.size_bytes != size_ && !base::mutant("tay-check-size")) {
    return changed(*active_, "the active segment does not end where it did");
  }
  return {};
}

Result<void> LogWriter::write_verified(ByteSpan bytes) {
  VARVE_TRY(check_size());
  VARVE_TRY(io::commit_bytes(*active_, bytes, size_, {.read_back = true, .sync = false}));
  unsynced_ = true;
  VARVE_ASSIGN(const io::FileIdentity now, active_->identity());
  if (now.size_bytes != size_ + bytes.size()) {
    return changed(*active_, "the active segment has another size than was written");
  }
  return {};
}

Result<void> LogWriter::write_run(const Run& run, std::size_t end, bool sync) {
  const ByteSpan bytes = ByteSpan(waiting_).subspan(run.begin, end - run.begin);
  VARVE_TRY(check_place());
  VARVE_TRY(write_verified(bytes));
  if (sync) {
    if (!base::mutant("tay-run-sync")) {
      VARVE_TRY(active_->sync());
    }
    unsynced_ = false;
  }
  VARVE_TRY(check_place());
  crc_ = base::crc32c(bytes, crc_);
  size_ += bytes.size();
  count_ += run.count;
  written_sequence_ += run.count;
  return {};
}

Result<void> LogWriter::write_waiting(bool sync) {
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    if (runs_[i].rotate_before) {
      VARVE_TRY(seal_active());
      VARVE_TRY(begin_next());
    }
    VARVE_TRY(
        write_run(runs_[i], i + 1 < runs_.size() ? runs_[i + 1].begin : waiting_.size(), sync));
  }
  plan_from_here();
  return {};
}

Result<void> LogWriter::commit(bool sync) {
  return guarded([&] { return write_waiting(sync); });
}

Result<void> LogWriter::sync() {
  if (!active_ || !unsynced_) {
    return poison_ ? Result<void>(poisoned()) : Result<void>();
  }
  return guarded([&]() -> Result<void> {
    VARVE_TRY(active_->sync());
    unsynced_ = false;
    return check_place();
  });
}

}  // namespace varve::tay
