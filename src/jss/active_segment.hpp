// SPDX-License-Identifier: MIT OR Apache-2.0
// The one segment that is being appended to (sections 13.1, 14.1): the file, its end, and what
// sealing will need. After a failed write or sync it is dead; reopening recovers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/compression.hpp"
#include "jss/press.hpp"
#include "jss/recovery.hpp"
#include "jss/segment_summary.hpp"
#include "varve/file_system.hpp"

namespace varve::jss {

class ActiveSegment {
 public:
  // Makes a new one, durable before this returns. The name appears only when the header is in it.
  // EEXIST if there is a file of that name. The directory outlives the object.
  static Result<std::unique_ptr<ActiveSegment>> create(io::Directory& directory, std::string name);
  // Opens an existing one, recovers it (cutting an orphaned footer) and locks it against other
  // writers. Errors as decide_recovery; ErrorCode::locked if another writer has it.
  static Result<std::unique_ptr<ActiveSegment>> resume(io::Directory& directory, std::string name,
                                                       unsigned threads);

  // Adds a pressed block to what the next write() writes.
  void add(const PressedBlock& block);
  std::uint64_t unwritten_bytes() const { return pending_.size(); }
  // One write of everything added, at the end of the file.
  Result<void> write();
  // Writes, and makes everything durable.
  Result<void> sync();
  // Writes footer and header, each synced (section 14.1). Nothing may follow. If a write fails, the
  // file is cut back to its rows; after a failed sync it is left alone, and the next one to open it
  // finds out what became durable. Gives what was written.
  Result<SealedParts> seal();

  const std::string& name() const { return name_; }
  // Bytes of frames, with those not yet written.
  std::uint64_t frames_bytes() const { return end_ + pending_.size() - k_first_frame_offset; }
  const SegmentSummary& summary() const { return summary_; }

 private:
  ActiveSegment(io::Directory& directory, std::string name, std::unique_ptr<io::File> file)
      : directory_(directory), name_(std::move(name)), file_(std::move(file)) {}
  // After a failed seal: makes the file active again, ending with its rows, as far as that goes.
  void undo_seal(bool header_touched);

  io::Directory& directory_;
  std::string name_;
  std::unique_ptr<io::File> file_;
  std::uint64_t end_ = k_first_frame_offset;  // where the next frame goes
  bool synced_ = true;
  base::Bytes pending_;
  SegmentSummary summary_;
};

}  // namespace varve::jss
