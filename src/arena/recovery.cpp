// SPDX-License-Identifier: MIT OR Apache-2.0
#include "arena/recovery.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/mutant.hpp"

namespace varve::arena {

std::string_view to_text(TailState::Kind kind) {
  switch (kind) {
    case TailState::Kind::marker:
      return "end marker";
    case TailState::Kind::zero_header:
      return "zero header";
    case TailState::Kind::short_end:
      return "fewer than 16 bytes left";
    case TailState::Kind::torn:
      return "torn tail";
  }
  return "";
}

std::string damage_text(const Damage& damage) {
  const std::string_view word = damage.at.fault.word;
  switch (damage.kind) {
    case Damage::Kind::torn:
      return fmt::format(
          "torn tail, reason {}: the last append is incomplete or unverifiable; the "
          "format's own engine opens the store without it",
          word);
    case Damage::Kind::committed:
      return fmt::format("committed damage (corrupt-committed), reason {}, proof: {} at {}", word,
                         damage.proof->kind == UnitKind::marker ? "marker" : "frame",
                         damage.proof->offset);
    case Damage::Kind::earlier:
      return fmt::format("bad frame in a segment that is not the last (corrupt-frame), reason {}",
                         word);
    case Damage::Kind::in_progress:
      return "an append was in progress here while the bytes were read: taken as the end";
    case Damage::Kind::limit:
      return fmt::format("a frame of {} bytes needs more memory than allowed: not checked",
                         damage.at.header.raw_len);
    case Damage::Kind::undecided:
      return fmt::format(
          "bad frame, reason {}; whether it was committed cannot be told, since the "
          "bytes behind it are made to be expensive",
          word);
  }
  return {};
}

namespace {

// Counts frames and remembers the largest seq.
struct TailHandler {
  struct Output {};
  std::vector<base::Buffer> scratch;
  std::uint64_t frames = 0;
  std::uint32_t largest_seq = 0;

  void begin(Output&, const RawChunk&) {}
  std::byte* room(Output&, const PlannedFrame& frame, unsigned worker) {
    return scratch[worker].reserve(frame.header.raw_len);
  }
  void frame(Output&, const PlannedFrame&, base::ByteSpan, unsigned) {}
  void finish(Output&, unsigned) {}
  Result<bool> deliver(Output&, std::span<const PlannedFrame> planned) {
    for (const PlannedFrame& frame : planned) {
      largest_seq = std::max(largest_seq, frame.header.seq);
    }
    frames += planned.size();
    return true;
  }
};

Error refusal(const SegmentImage& image, const Damage& damage) {
  Error error;
  const bool committed = damage.kind == Damage::Kind::committed;
  error.code = committed ? ErrorCode::damaged : ErrorCode::limit;
  error.reason = committed                                ? "corrupt-committed"
                 : damage.kind == Damage::Kind::undecided ? "scan-limit"
                                                          : "limit";
  error.path = image.file().path();
  error.offset = damage.at.offset;
  error.length = damage.at.header.frame_bytes();
  error.unit = "frame";
  error.expected = damage.at.fault.expected;
  error.actual = damage.at.fault.actual;
  error.message = damage_text(damage);
  return error;
}

}  // namespace

Result<TailState> examine_tail(const SegmentImage& image, const WalkOptions& options) {
  WalkOptions strict = options;
  strict.policy = Policy::strict;
  TailHandler handler;
  handler.scratch.resize(base::thread_count(options.threads));
  TailScanner scanner(image);
  std::optional<Damage> damage;
  VARVE_ASSIGN(const SegmentEnd end, walk_segment(
                                         image, true, 0, strict, handler,
                                         [&](const Damage& met) -> Result<bool> {
                                           damage = met;
                                           return true;
                                         },
                                         scanner));
  if (damage && damage->kind != Damage::Kind::torn && !base::mutant("arena-torn-is-end")) {
    return std::unexpected(refusal(image, *damage));
  }
  TailState state;
  state.frames = handler.frames;
  state.end = end.offset;
  state.next_seq =
      handler.frames == 0 ? 0 : handler.largest_seq + (base::mutant("arena-next-seq") ? 0 : 1);
  switch (end.kind) {
    case SegmentEnd::Kind::marker:
      state.kind = TailState::Kind::marker;
      break;
    case SegmentEnd::Kind::short_end:
      state.kind = TailState::Kind::short_end;
      break;
    case SegmentEnd::Kind::damaged:
      state.kind = TailState::Kind::torn;
      state.bad = damage->at;
      state.torn_bytes = scanner.last_nonzero().value_or(end.offset) + 1 - end.offset;
      break;
    default:
      state.kind = TailState::Kind::zero_header;
  }
  return state;
}

}  // namespace varve::arena
