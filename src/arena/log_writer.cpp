// SPDX-License-Identifier: MIT OR Apache-2.0
#include "arena/log_writer.hpp"

#include <algorithm>
#include <utility>

#include "arena/manifest.hpp"
#include "base/endian.hpp"
#include "base/mutant.hpp"

namespace varve::arena {

namespace {

// Frames that wait are written when there are so many bytes of them.
constexpr std::size_t k_max_pending_bytes = std::size_t{4} << 20;

}  // namespace

Result<std::unique_ptr<io::File>> create_segment_file(io::Directory& directory,
                                                      std::uint32_t number,
                                                      const Geometry& geometry) {
  VARVE_ASSIGN(auto file,
               directory.open_file(segment_name(number), io::OpenMode::create_exclusive));
  VARVE_TRY(file->truncate(geometry.new_segment_bytes()));
  if (!base::mutant("arena-create-sync")) {
    VARVE_TRY(file->sync());
  }
  if (!base::mutant("arena-create-dir-sync")) {
    VARVE_TRY(directory.sync());
  }
  return file;
}

Result<std::unique_ptr<LogWriter>> LogWriter::resume(std::unique_ptr<io::Directory> directory,
                                                     const Geometry& geometry, const End& end,
                                                     std::uint64_t zero_ahead_bytes) {
  std::unique_ptr<LogWriter> writer(
      new LogWriter(std::move(directory), geometry, zero_ahead_bytes));
  VARVE_ASSIGN(writer->file_, writer->directory_->open_file(segment_name(end.place.segment),
                                                            io::OpenMode::read_write));
  writer->segment_ = end.place.segment;
  writer->base_ = end.place.offset;
  writer->file_bytes_ = end.file_bytes;
  writer->next_seq_ = end.next_seq;
  return writer;
}

Result<std::unique_ptr<LogWriter>> LogWriter::begin(std::unique_ptr<io::Directory> directory,
                                                    const Geometry& geometry) {
  std::unique_ptr<LogWriter> writer(new LogWriter(std::move(directory), geometry, 0));
  VARVE_TRY(writer->create_segment(0));
  return writer;
}

template <class Step>
auto LogWriter::guarded(Step step) -> decltype(step()) {
  if (poisoned_) {
    return fail(ErrorCode::poisoned, "poisoned",
                "an earlier append failed: the arena must be opened and recovered again",
                file_ ? file_->path() : directory_->path());
  }
  auto outcome = step();
  poisoned_ = !outcome.has_value() && !base::mutant("arena-poison");
  return outcome;
}

Result<void> LogWriter::create_segment(std::uint32_t number) {
  VARVE_ASSIGN(file_, create_segment_file(*directory_, number, geometry_));
  segment_ = number;
  file_bytes_ = geometry_.new_segment_bytes();
  base_ = 0;
  ahead_.reset();
  return {};
}

// Section 6 step 4. The old segment is whole and durable before the new name exists.
Result<void> LogWriter::roll_over() {
  VARVE_TRY(write_pending());
  if (file_bytes_ < geometry_.segment_bytes) {
    VARVE_TRY(file_->truncate(geometry_.segment_bytes));
  }
  if (!base::mutant("arena-roll-sync")) {
    VARVE_TRY(file_->sync());
  }
  dirty_ = false;
  return create_segment(segment_ + 1);
}

// Section 6 step 5.
Result<void> LogWriter::grow(std::uint64_t end) {
  const std::uint64_t wanted = std::min(
      end + (base::mutant("arena-grow-marker") ? 0 : k_header_bytes), geometry_.segment_bytes);
  if (file_bytes_ >= wanted) {
    return {};
  }
  const std::uint64_t target = geometry_.logical_bytes(wanted, true);
  VARVE_TRY(file_->truncate(target));
  VARVE_TRY(file_->sync());
  file_bytes_ = target;
  ahead_.reset();
  return {};
}

Result<void> LogWriter::fill_ahead(std::uint64_t end) {
  if (zero_ahead_bytes_ == 0) {
    return {};
  }
  if (!ahead_) {
    // What stands at base_ is a marker: zeros begin behind it.
    ahead_.emplace(std::min(base_ + k_header_bytes, file_bytes_), zero_ahead_bytes_, file_bytes_);
  }
  return ahead_->reserve(*file_, std::min(end + k_header_bytes, file_bytes_));
}

Result<void> LogWriter::write_pending() {
  if (pending_.empty()) {
    return {};
  }
  const std::uint64_t end = base_ + pending_.size();
  VARVE_TRY(grow(end));
  VARVE_TRY(fill_ahead(end));
  if (end + k_header_bytes <= file_bytes_ && !base::mutant("arena-no-marker")) {
    append_marker(pending_);
  }
  VARVE_TRY(file_->write_at(pending_, base_));
  dirty_ = true;
  base_ = end;
  pending_.clear();
  return {};
}

Result<LogPlace> LogWriter::add(base::ByteSpan frame) {
  if (frame.size() > geometry_.segment_bytes) {
    return fail(ErrorCode::invalid_argument, "payload-size", "the frame fits in no segment");
  }
  return guarded([&]() -> Result<LogPlace> {
    if (frame.size() + (base::mutant("arena-roll-bound") ? 1 : 0) >
        geometry_.segment_bytes - end().offset) {
      VARVE_TRY(roll_over());
    }
    const LogPlace place = end();
    const std::size_t at = pending_.size();
    pending_.insert(pending_.end(), frame.begin(), frame.end());
    base::store_le(pending_.data() + at + k_seq_offset,
                   base::mutant("arena-encode-seq") ? next_seq_ : next_seq_++);
    if (pending_.size() >= k_max_pending_bytes) {
      VARVE_TRY(write_pending());
    }
    return place;
  });
}

Result<void> LogWriter::write() {
  return guarded([&] { return write_pending(); });
}

Result<void> LogWriter::sync() {
  return guarded([&]() -> Result<void> {
    VARVE_TRY(write_pending());
    if (dirty_) {
      if (!base::mutant("arena-data-sync")) {
        VARVE_TRY(file_->data_sync());
      }
      dirty_ = false;
    }
    return {};
  });
}

}  // namespace varve::arena
