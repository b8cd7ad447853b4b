// SPDX-License-Identifier: MIT OR Apache-2.0
// Sealing and rotation, step by step as in section 11.
#include <utility>

#include "base/mutant.hpp"
#include "tay/log_writer.hpp"
#include "tay/refusal.hpp"
#include "tay/segment_files.hpp"

namespace varve::tay {

namespace {

std::unexpected<Error> unlike_memory(const io::Directory& directory, const char* message) {
  return fail(ErrorCode::damaged, "changed_view", message, directory.path());
}

}  // namespace

Result<void> LogWriter::check_rotation() const {
  if (poison_) {
    return poisoned();
  }
  if (!active_ || written_sequence_ == 0 || header_.segment_id == k_u64_max) {
    return fail(ErrorCode::limit,
                active_ && written_sequence_ != 0 ? "segment_ids_exhausted" : "sequence_exhausted",
                "no segment can follow the active one");
  }
  if (count_ == 0) {
    return fail(ErrorCode::invalid_argument, "empty_segment",
                "the active segment holds no record; an empty one is never sealed");
  }
  return {};
}

Result<std::uint64_t> LogWriter::rotate() {
  VARVE_TRY(commit());
  VARVE_TRY(check_rotation());
  const std::uint64_t sealed = header_.segment_id;
  const auto rotated = guarded([&]() -> Result<void> {
    VARVE_TRY(seal_active());
    return begin_next();
  });
  VARVE_TRY(rotated);
  plan_from_here();
  return sealed;
}

Result<void> LogWriter::seal() {
  VARVE_TRY(commit());
  VARVE_TRY(check_rotation());
  return guarded([&] { return seal_active(); });
}

Result<void> LogWriter::complete_rotation() {
  VARVE_TRY(guarded([&] { return begin_next(); }));
  plan_from_here();
  return {};
}

// The whole store once more; what is known of it must not have changed.
Result<PhysicalFacts> LogWriter::look_again() {
  VARVE_TRY(owner_.check());
  auto facts = physical_pass(owner_, options_.budgets, options_.threads, nullptr);
  if (!facts) {
    return std::unexpected(to_error(facts.error()));
  }
  VARVE_TRY(owner_.check());
  if (facts->store_id != header_.store_id || facts->totals.next_sequence != written_sequence_) {
    return unlike_memory(owner_.root(), "the store is not what its writer made of it");
  }
  return *std::move(facts);
}

// R0 to R2.
Result<void> LogWriter::seal_active() {
  VARVE_ASSIGN(const PhysicalFacts facts, look_again());
  const Segment& found = facts.segments.back();
  if (found.id != header_.segment_id || found.sealed || found.records != count_ ||
      found.last_sequence != header_.first_sequence + count_ - 1 || found.bytes() != size_ ||
      found.crc != crc_ || !found.identity.same_object(identity_)) {
    return unlike_memory(*owner_.segments(), "the active segment is not what its writer remembers");
  }
  SegmentFooter footer;
  footer.segment_id = header_.segment_id;
  footer.first_sequence = header_.first_sequence;
  footer.last_sequence = found.last_sequence;
  footer.record_count = count_;
  footer.store_id = header_.store_id;
  footer.segment_crc = crc_;
  Bytes bytes;
  encode_footer(footer, bytes);
  VARVE_TRY(check_place());
  VARVE_TRY(write_verified(bytes));
  if (!base::mutant("tay-rotate-sync")) {
    VARVE_TRY(active_->sync());
  }
  VARVE_TRY(check_place());
  unsynced_ = false;
  active_.reset();
  size_ += bytes.size();
  return {};
}

// R3 to R7.
Result<void> LogWriter::begin_next() {
  VARVE_TRY(sync_file(*owner_.segments(), segment_name(header_.segment_id)));
  const SegmentHeader next{header_.segment_id + 1, written_sequence_, header_.store_id};
  VARVE_TRY(make_segment(*owner_.segments(), next, *options_.environment));
  VARVE_ASSIGN(const PhysicalFacts facts, look_again());
  const Segment& found = facts.segments.back();
  if (found.id != next.segment_id || found.sealed || found.records != 0 ||
      found.header->first_sequence != next.first_sequence) {
    return unlike_memory(*owner_.segments(), "the new segment is not what was written");
  }
  VARVE_ASSIGN(auto file, owner_.segments()->open_file(found.name, io::OpenMode::read_write));
  earlier_bytes_ += size_;
  return adopt(std::move(file), found);
}

// Goes on in another segment: what of it was proven, and the file opened for writing.
Result<void> LogWriter::adopt(std::unique_ptr<io::File> file, const Segment& segment) {
  VARVE_ASSIGN(const io::FileIdentity now, file->identity());
  if (!now.same_object(segment.identity) || now.links != 1 || now.size_bytes != segment.bytes()) {
    return unlike_memory(*owner_.segments(), "the new segment was replaced");
  }
  active_ = std::move(file);
  identity_ = now;
  header_ = *segment.header;
  size_ = segment.bytes();
  count_ = segment.records;
  crc_ = segment.crc;
  return {};
}

}  // namespace varve::tay
