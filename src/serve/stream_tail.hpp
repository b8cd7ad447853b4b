// SPDX-License-Identifier: MIT OR Apache-2.0
// The end of an archive that another process appends to: one thread looks for news and keeps the
// latest blocks for all clients. Rows appear once, in order, through flushing, rotation, sealing
// and compaction.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "jss/block_reader.hpp"
#include "serve/stream_archive.hpp"
#include "serve/stream_frames.hpp"

namespace varve::serve {

struct StreamTailOptions {
  std::chrono::milliseconds poll{50};
  // The latest blocks are kept up to so much memory, their messages included; clients further
  // behind read the archive.
  std::uint64_t max_kept_bytes = std::uint64_t{64} << 20;
  std::size_t max_kept_blocks = 4096;
  // A place that does not read as it should may be one that is being written; so long it is waited
  // for before clients are told.
  std::chrono::milliseconds patience{5'000};
};

class StreamTail {
 public:
  // The archive of one moment: all rows below `next_seq` are in `segments`.
  struct View {
    StreamSegments segments;
    std::uint64_t next_seq = 1;
  };
  // What there is for a client that wants the rows from some seq on.
  struct News {
    enum class Kind : std::uint8_t {
      nothing,  // no such row yet
      block,    // the first block that is not wholly below the seq
      behind,   // older rows than are kept: read the archive
      failed,   // the archive cannot be read on
    };
    Kind kind = Kind::nothing;
    std::shared_ptr<LiveBlock> block;
    std::optional<Error> error;
  };

  StreamTail(StreamArchive archive, const StreamTailOptions& options)
      : archive_(std::move(archive)), options_(options) {}
  StreamTail(const StreamTail&) = delete;
  StreamTail& operator=(const StreamTail&) = delete;
  ~StreamTail();

  // Finds the end and begins to look. Once.
  Result<void> start();
  // Looks at once, and gives what is there now. Thread-safe, as all that follows.
  Result<View> look_now();
  View view() const;
  std::uint64_t next_seq() const { return next_seq_; }
  // Waits for news for at most `wait`.
  News next(std::uint64_t seq, std::chrono::milliseconds wait);

  const StreamArchive& archive() const { return archive_; }

 private:
  // All with look_mutex_ held.
  Result<void> look();
  Result<bool> changed();
  Result<void> find_end();
  Result<void> read_on(const std::vector<StreamSegment>& segments);
  // Reads what is new of the current segment; true if nothing can follow in it.
  Result<bool> read_segment(const std::vector<StreamSegment>& segments);
  Result<void> read_footer();
  Result<void> follow_replacement(const std::vector<StreamSegment>& segments);
  Result<void> read_frames(const jss::SegmentWalk& walk);
  Result<void> open_segment(const StreamSegment& segment);
  void publish(std::shared_ptr<LiveBlock> block);
  void note(const Result<void>& looked);

  StreamArchive archive_;
  const StreamTailOptions options_;

  std::mutex look_mutex_;
  jss::BlockReader reader_{jss::k_max_body_bytes};
  std::optional<std::uint64_t> done_;          // segments up to this number are read
  std::shared_ptr<jss::OpenSegment> current_;  // the one that is being read; null if none
  std::uint64_t current_number_ = 0;           // its number
  std::uint64_t offset_ = 0;                   // of the next frame in it
  std::int64_t changed_ns_ = 0;                // of the directory, at the last look
  std::int64_t current_changed_ns_ = 0;        // of the current segment's file
  int looks_due_ = 0;                          // even if nothing seems to have changed
  std::optional<std::chrono::steady_clock::time_point> failing_since_;

  std::atomic<std::uint64_t> next_seq_ = 1;
  mutable std::mutex mutex_;  // of what follows; may be taken with look_mutex_ held
  std::condition_variable news_;
  StreamSegments segments_;
  std::deque<std::shared_ptr<LiveBlock>> kept_;
  std::uint64_t kept_from_ = 1;  // all rows from here on are in kept_
  std::optional<Error> error_;

  std::jthread thread_;  // last: it uses the rest
};

}  // namespace varve::serve
