// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/active_segment.hpp"

#include <cerrno>
#include <utility>

#include "base/mutant.hpp"
#include "io/publish.hpp"
#include "jss/names.hpp"

namespace varve::jss {

namespace {

// A new file under a temporary name, locked so that nobody clears it away as a leftover. Before the
// lock is taken somebody may have done so (a compaction that begins): then another one is made.
Result<io::StagedFile> stage(io::Directory& directory, const std::string& name) {
  constexpr int k_attempts = 10;
  for (int attempt = 1;; ++attempt) {
    if (auto removed = directory.remove_file(name);
        !removed && removed.error().system_errno != ENOENT) {
      return std::unexpected(std::move(removed).error());
    }
    VARVE_ASSIGN(auto staged, io::StagedFile::create(directory, name));
    auto locked = staged.file().lock(io::LockKind::exclusive);
    if (locked) {
      const auto there = directory.identity_of(name);
      VARVE_ASSIGN(const io::FileIdentity mine, staged.file().identity());
      if (there && there->same_object(mine)) {
        return staged;
      }
    } else if (locked.error().code != ErrorCode::locked) {
      return std::unexpected(std::move(locked).error());
    }
    if (attempt == k_attempts) {
      return fail(ErrorCode::locked, "staging", "somebody removes the new segment again and again",
                  directory.path());
    }
  }
}

}  // namespace

Result<std::unique_ptr<ActiveSegment>> ActiveSegment::create(io::Directory& directory,
                                                             std::string name) {
  VARVE_ASSIGN(auto staged, stage(directory, name + std::string(k_temporary_suffix)));
  VARVE_TRY(staged.file().write_at(active_header(), 0));
  VARVE_TRY(staged.publish(name, io::Replace::no));
  VARVE_TRY(staged.file().unlock());
  VARVE_ASSIGN(auto file, directory.open_file(name, io::OpenMode::read_write));
  VARVE_TRY(file->lock(io::LockKind::exclusive));
  return std::unique_ptr<ActiveSegment>(
      new ActiveSegment(directory, std::move(name), std::move(file)));
}

Result<std::unique_ptr<ActiveSegment>> ActiveSegment::resume(io::Directory& directory,
                                                             std::string name, unsigned threads) {
  VARVE_ASSIGN(auto file, directory.open_file(name, io::OpenMode::read_write));
  VARVE_TRY(file->lock(io::LockKind::exclusive));
  VARVE_ASSIGN(auto reading, directory.open_file(name, io::OpenMode::read));
  VARVE_ASSIGN(const auto segment, SegmentFile::adopt(std::move(reading), name));
  VARVE_ASSIGN(RecoveryDecision decision,
               decide_recovery(*segment, {.threads = threads, .complete_seals = false}));
  VARVE_TRY(apply_recovery(*file, decision));
  std::unique_ptr<ActiveSegment> active(
      new ActiveSegment(directory, std::move(name), std::move(file)));
  active->end_ = decision.frames_end;
  active->summary_ = std::move(decision.summary);
  // A writer before us may have ended without a sync; what we build on must be durable first.
  active->synced_ = decision.step != RecoveryStep::none || base::mutant("jss-resume-synced");
  return active;
}

void ActiveSegment::add(const PressedBlock& block) {
  IndexEntry entry = block.entry;
  entry.offset = end_ + (base::mutant("jss-entry-offset") ? 0 : pending_.size());
  summary_.add(block.summary, entry);
  pending_.insert(pending_.end(), block.bytes.begin(), block.bytes.end());
}

Result<void> ActiveSegment::write() {
  if (pending_.empty()) {
    return {};
  }
  VARVE_TRY(file_->write_at(pending_, end_));
  end_ += pending_.size();
  pending_.clear();
  synced_ = false;
  return {};
}

Result<void> ActiveSegment::sync() {
  VARVE_TRY(write());
  if (!synced_) {
    if (!base::mutant("jss-data-sync")) {
      VARVE_TRY(file_->data_sync());
    }
    synced_ = true;
  }
  return {};
}

void ActiveSegment::undo_seal(bool header_touched) {
  // Through another handle, since this one refuses to write after the failure. Whatever fails here
  // is for recovery to deal with. The header goes first: a sealed one without a footer is refused.
  auto file = directory_.open_file(name_, io::OpenMode::read_write);
  if (!file) {
    return;
  }
  if (header_touched && (!(*file)->write_at(active_header(), 0) || !(*file)->sync())) {
    return;
  }
  if ((*file)->truncate(end_)) {
    (void)(*file)->sync();
  }
}

Result<SealedParts> ActiveSegment::seal() {
  // Frames first: a footer must never be durable before what it describes.
  VARVE_TRY(base::mutant("jss-seal-frames") ? write() : sync());
  base::ZstdEncoder encoder(k_compression_level);
  VARVE_ASSIGN(SealedParts parts, encode_footer(summary_, end_, envelope_of(summary_), encoder));
  if (auto written = file_->write_at(parts.footer, end_); !written) {
    undo_seal(false);
    return std::unexpected(std::move(written).error());
  }
  if (!base::mutant("jss-seal-footer")) {
    VARVE_TRY(file_->data_sync());
  }
  if (auto written = file_->write_at(parts.header_bytes, 0); !written) {
    undo_seal(true);
    return std::unexpected(std::move(written).error());
  }
  VARVE_TRY(file_->data_sync());
  return parts;
}

}  // namespace varve::jss
