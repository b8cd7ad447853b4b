// SPDX-License-Identifier: MIT OR Apache-2.0
// The end of a log being written: frames collected and written as one range with a marker behind
// them, the next segment begun where a frame does not fit, files grown in steps (section 6).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "arena/codec.hpp"
#include "io/zero_ahead.hpp"
#include "varve/file_system.hpp"

namespace varve::arena {

// A place in a log.
struct LogPlace {
  std::uint32_t segment = 0;
  std::uint64_t offset = 0;
  friend auto operator<=>(const LogPlace&, const LogPlace&) = default;
};

// Not thread-safe. After a failure every call returns ErrorCode::poisoned: the state of the tail is
// unknown (section 6 step 7).
class LogWriter {
 public:
  struct End {
    LogPlace place;
    std::uint64_t file_bytes = 0;  // of the final segment
    std::uint32_t next_seq = 0;
  };

  // Goes on at `end`. The bytes behind it are zeros, apart from a marker at it.
  static Result<std::unique_ptr<LogWriter>> resume(std::unique_ptr<io::Directory> directory,
                                                   const Geometry& geometry, const End& end,
                                                   std::uint64_t zero_ahead_bytes);
  // Begins a log with its first segment, which must not exist.
  static Result<std::unique_ptr<LogWriter>> begin(std::unique_ptr<io::Directory> directory,
                                                  const Geometry& geometry);

  // Takes a frame, as append_frame() makes it, under the next seq. Gives where it will stand. It is
  // in the file after write(), at the latest.
  Result<LogPlace> add(base::ByteSpan frame);
  // Writes what was taken and a marker behind it, in one call.
  Result<void> write();
  // Makes durable what was written.
  Result<void> sync();

  // From the next write on; 0: none.
  void set_zero_ahead(std::uint64_t step_bytes) { zero_ahead_bytes_ = step_bytes; }

  const Geometry& geometry() const { return geometry_; }
  // Where the next frame goes, if it fits.
  LogPlace end() const { return {segment_, base_ + pending_.size()}; }
  std::uint32_t next_seq() const { return next_seq_; }
  // Of frames that were taken and are not in the file yet.
  std::uint64_t waiting_bytes() const { return pending_.size(); }

 private:
  LogWriter(std::unique_ptr<io::Directory> directory, const Geometry& geometry,
            std::uint64_t zero_ahead_bytes)
      : directory_(std::move(directory)),
        geometry_(geometry),
        zero_ahead_bytes_(zero_ahead_bytes) {}

  Result<void> create_segment(std::uint32_t number);
  Result<void> roll_over();
  Result<void> grow(std::uint64_t end);
  Result<void> fill_ahead(std::uint64_t end);
  Result<void> write_pending();
  template <class Step>
  auto guarded(Step step) -> decltype(step());

  std::unique_ptr<io::Directory> directory_;
  Geometry geometry_;
  std::uint64_t zero_ahead_bytes_;
  std::unique_ptr<io::File> file_;
  std::uint32_t segment_ = 0;
  std::uint64_t file_bytes_ = 0;
  std::uint64_t base_ = 0;  // where pending_ begins
  base::Bytes pending_;
  std::uint32_t next_seq_ = 0;
  std::optional<io::ZeroAhead> ahead_;
  bool dirty_ = false;  // written and not synced
  bool poisoned_ = false;
};

// Creates seg_<number>.bin with the length of a new segment and makes file and name durable.
Result<std::unique_ptr<io::File>> create_segment_file(io::Directory& directory,
                                                      std::uint32_t number,
                                                      const Geometry& geometry);

}  // namespace varve::arena
