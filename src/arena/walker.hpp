// SPDX-License-Identifier: MIT OR Apache-2.0
// The one walk over a segment (sections 3.2, 4, 7 and 8). Three policies:
//   strict   stops at the first bad frame, having decided whether it is a torn tail or damage
//   report   goes on behind damage at the next frame that its own checks prove
//   salvage  also looks for frames behind the end of the segment
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "arena/chunk_reader.hpp"
#include "arena/codec.hpp"
#include "arena/segment_image.hpp"
#include "arena/tail_scan.hpp"
#include "base/pipeline.hpp"

namespace varve::arena {

enum class Policy : std::uint8_t { strict, report, salvage };

struct WalkOptions {
  Policy policy = Policy::strict;
  unsigned threads = 1;  // 0: all cores
  std::uint64_t max_unit_bytes = std::uint64_t{1} << 30;
  // How long to wait before the tail of a file that was modified a moment ago is read again
  // (section 7.4). 0 for callers that hold the lock.
  unsigned settle_ms = 20;
};

// A bad frame, judged.
struct Damage {
  enum class Kind : std::uint8_t {
    torn,         // nothing valid behind it, final segment: the log ends here
    committed,    // final segment, and `proof` says that it had been committed
    earlier,      // in a segment that is not the last: nothing may be wrong there
    in_progress,  // a writer changed the bytes while they were read: the log ends here, for now
    limit,        // the frame needs more memory than allowed: not checked
    undecided,    // the search for a proof was given up (reason scan-limit)
  };
  Kind kind = Kind::torn;
  RunEnd at;
  std::optional<Proof> proof;
  std::optional<std::uint64_t> resume;  // where the walk goes on, if it does
};

// How the walk of a segment ended.
struct SegmentEnd {
  enum class Kind : std::uint8_t { marker, zero_header, short_end, damaged, stopped };
  Kind kind = Kind::short_end;
  std::uint64_t offset = 0;
  bool moved_on = false;  // a writer has appended here since the reading began
};

// What stands behind the end of a segment, where everything should be zero (sections 2 and 4).
struct BehindEnd {
  std::uint64_t first_nonzero = 0;
  std::uint64_t last_nonzero = 0;
  std::optional<Proof> frame;  // a valid frame there
  bool undecided = false;      // the search was given up
};

// The complete check of section 3.2 at one offset. The payload lies in `room` or `data`, which are
// reused.
struct UnitCheck {
  UnitKind kind = UnitKind::short_end;
  FrameHeader header;
  Fault fault;
  base::ByteSpan payload;  // if kind is frame
};
Result<UnitCheck> check_at(const SegmentImage& image, std::uint64_t offset, base::Buffer& data,
                           base::Buffer& room);

// Fixes the end of a segment that was written to a moment ago, so that a reader does not run after
// a writer: sets the image's horizon to where the headers end now.
Result<void> fix_horizon(SegmentImage& image);

// Judges the bad frame that ended a run. `is_final`: of the last segment of the log.
Result<Damage> judge(const SegmentImage& image, bool is_final, const RunEnd& at,
                     const WalkOptions& options, TailScanner& scanner);

// Looks behind an end. `end` is the offset of the marker, zero header or leftover.
Result<std::optional<BehindEnd>> look_behind(const SegmentImage& image, const SegmentEnd& end,
                                             TailScanner& scanner);

// Steps 7 and 8 for a frame of a chunk, with an early exit before large memory is asked for.
// `room` is called only if the frame is compressed and must give raw_len bytes.
template <class Room>
std::optional<Fault> check_planned(const FrameHeader& header, base::ByteSpan data, Room room,
                                   base::ByteSpan& payload) {
  constexpr std::uint32_t k_large_bytes = std::uint32_t{4} << 20;
  std::uint64_t steps = 0;
  if (header.compressed() && header.raw_len > k_large_bytes &&
      !lz4_block_plausible(data, header.raw_len, steps)) {
    return Fault{reason::k_lz4, k_header_bytes, {}, {}};
  }
  return check_data(header, data, header.compressed() ? room() : nullptr, payload);
}

// Walks the frames that touch each other from `start`. The handler has
//   Output                                          what the frames of one chunk make; reused
//   void begin(Output&, const RawChunk&)            before the frames of a chunk; any thread
//   std::byte* room(Output&, const PlannedFrame&, unsigned worker)
//       memory for raw_len bytes; any thread, worker in [0, threads)
//   void frame(Output&, const PlannedFrame&, base::ByteSpan payload, unsigned worker)
//       a valid frame; same thread as room() before it
//   void finish(Output&, unsigned worker)           behind the last valid frame of the chunk
//   Result<bool> deliver(Output&, std::span<const PlannedFrame>)
//       the valid frames of a chunk, in log order, on the calling thread; false stops
// Whatever was made of frames behind a bad one is dropped, so that the outcome does not depend on
// the number of threads.
template <class Handler>
Result<RunEnd> walk_run(const SegmentImage& image, std::uint64_t start, const WalkOptions& options,
                        Handler& handler) {
  struct WorkedChunk {
    RawChunk raw;
    typename Handler::Output output;
    std::size_t good = 0;
    std::optional<RunEnd> end;
  };
  using Item = std::unique_ptr<WorkedChunk>;
  constexpr std::uint64_t k_worth_threads_bytes = std::uint64_t{1} << 20;
  const unsigned threads =
      image.stored_bytes() < k_worth_threads_bytes ? 1 : base::thread_count(options.threads);

  ChunkReader reader(image, start, options.max_unit_bytes);
  std::vector<Item> spare;
  RunEnd end;
  std::optional<Error> error;

  const auto produce = [&]() -> std::optional<Item> {
    Item chunk;
    if (spare.empty()) {
      chunk = std::make_unique<WorkedChunk>();
    } else {
      chunk = std::move(spare.back());
      spare.pop_back();
    }
    auto more = reader.next(chunk->raw);
    if (!more) {
      error = std::move(more).error();
      return std::nullopt;
    }
    return *more ? std::optional<Item>(std::move(chunk)) : std::nullopt;
  };
  const auto work = [&](Item& chunk, unsigned worker) {
    handler.begin(chunk->output, chunk->raw);
    chunk->good = 0;
    chunk->end = chunk->raw.end;
    for (const PlannedFrame& frame : chunk->raw.frames) {
      base::ByteSpan payload;
      const auto fault = check_planned(
          frame.header, chunk->raw.data_of(frame),
          [&] { return handler.room(chunk->output, frame, worker); }, payload);
      if (fault) {
        chunk->end = RunEnd{UnitKind::invalid, frame.offset, frame.header, *fault};
        break;
      }
      handler.frame(chunk->output, frame, payload, worker);
      ++chunk->good;
    }
    handler.finish(chunk->output, worker);
  };
  const auto consume = [&](Item& chunk) {
    auto go_on = handler.deliver(chunk->output, std::span(chunk->raw.frames).first(chunk->good));
    if (!go_on) {
      error = std::move(go_on).error();
      return false;
    }
    if (!*go_on) {
      end.stopped = true;
      return false;
    }
    if (chunk->end) {
      end = *chunk->end;
      error.reset();  // a read error further on is behind what counts
      return false;
    }
    spare.push_back(std::move(chunk));
    return true;
  };
  base::run_ordered_pipeline<Item>(threads, threads + 2, produce, work, consume);
  if (error) {
    return std::unexpected(std::move(*error));
  }
  return end;
}

// Walks one segment from `start` to its end. `on_damage(const Damage&) -> Result<bool>` is told of
// each bad frame, after the frames before it were delivered; false stops. The scanner, if given,
// is left behind for look_behind().
template <class Handler, class OnDamage>
Result<SegmentEnd> walk_segment(const SegmentImage& image, bool is_final, std::uint64_t start,
                                const WalkOptions& options, Handler& handler, OnDamage on_damage,
                                TailScanner& scanner) {
  using Kind = SegmentEnd::Kind;
  for (;;) {
    VARVE_ASSIGN(const RunEnd at, walk_run(image, start, options, handler));
    if (at.stopped) {
      return SegmentEnd{Kind::stopped, at.offset, false};
    }
    switch (at.kind) {
      case UnitKind::marker:
        return SegmentEnd{Kind::marker, at.offset, at.header.raw_len != 0};
      case UnitKind::zero_header:
        return SegmentEnd{Kind::zero_header, at.offset, false};
      case UnitKind::short_end:
        return SegmentEnd{Kind::short_end, at.offset, false};
      case UnitKind::frame:
      case UnitKind::invalid:
        break;
    }
    VARVE_ASSIGN(const Damage damage, judge(image, is_final, at, options, scanner));
    VARVE_ASSIGN(const bool go_on, on_damage(damage));
    if (!go_on) {
      return SegmentEnd{Kind::stopped, at.offset, false};
    }
    if (!damage.resume) {
      return SegmentEnd{Kind::damaged, at.offset, false};
    }
    start = *damage.resume;
  }
}

}  // namespace varve::arena
