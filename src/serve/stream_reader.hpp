// SPDX-License-Identifier: MIT OR Apache-2.0
// Reads an archive from some row on, block by block, for a client that is not at the end: only the
// blocks that can hold rows it wants (spec section 12).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "jss/block_reader.hpp"
#include "jss/select.hpp"
#include "jss/walker.hpp"
#include "serve/stream_tail.hpp"

namespace varve::serve {

class StreamReader {
 public:
  // The archive outlives the reader.
  explicit StreamReader(const StreamArchive& archive) : archive_(archive) {}

  // Begins again: the rows that the query can want, of the archive as `view` has it.
  void begin(StreamTail::View view, jss::RowQuery query);
  bool begun() const { return begun_; }
  void end() { begun_ = false; }
  // The next block that may hold such rows, among others; null when all rows below through_seq()
  // are read (begin again then). An error leaves the reader ended.
  Result<const jss::BlockColumns*> next();
  std::uint64_t through_seq() const { return view_.next_seq; }
  // What is being read, for messages; empty if nothing is.
  std::string segment_name() const { return segment_ ? segment_->file->name() : std::string(); }

 private:
  // Opens the next segment that may hold such rows; false if there is none.
  Result<bool> open_next();
  Result<void> select(const StreamSegment& segment);

  const StreamArchive& archive_;
  jss::BlockReader reader_{jss::k_max_body_bytes};
  jss::Block block_;
  StreamTail::View view_;
  jss::RowQuery query_;
  bool begun_ = false;
  std::size_t position_ = 0;  // in view_.segments
  std::shared_ptr<jss::OpenSegment> segment_;
  std::vector<jss::FrameRef> frames_;
  std::vector<std::uint32_t> blocks_;  // ordinals in frames_ still to be read...
  std::size_t at_ = 0;                 // ...from here on

  // Where the reader came to in an active segment: the frames before are below the rows to come.
  struct Mark {
    io::FileIdentity file;
    std::uint64_t offset = 0;
    std::uint64_t seq = 0;  // of the last row before
  };
  std::optional<Mark> mark_;
};

// The seq of the first row from `seq` on that was witnessed at or after `time`; nothing if there is
// none yet.
Result<std::optional<std::uint64_t>> find_time(const StreamArchive& archive,
                                               const StreamTail::View& view, std::uint64_t seq,
                                               std::int64_t time);

}  // namespace varve::serve
