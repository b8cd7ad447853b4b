// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/recovery.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutant.hpp"
#include "base/pipeline.hpp"
#include "jss/block.hpp"
#include "jss/press.hpp"
#include "jss/tail.hpp"

namespace varve::jss {

namespace {

constexpr std::size_t k_compare_bytes = std::size_t{256} << 10;

Error damage(const SegmentFile& file, std::uint64_t offset, std::uint64_t length, const char* unit,
             const char* reason, std::string message) {
  Error error;
  error.code = ErrorCode::damaged;
  error.path = file.path();
  error.offset = offset;
  error.length = length;
  error.unit = unit;
  error.reason = reason;
  error.message = std::move(message);
  return error;
}

// One frame on its way through the pipeline. The objects are used again.
struct FrameWork {
  FrameRef frame;
  base::Bytes bytes;
  Block block;
  BlockSummary summary;
  Result<void> read;
  std::optional<Fault> fault;
};

// Decodes all frames and adds them to the summary, in order.
class FrameReplay {
 public:
  FrameReplay(const SegmentFile& file, const std::vector<FrameRef>& frames, unsigned threads)
      : file_(file), frames_(frames), threads_(base::thread_count(threads)), decoders_(threads_) {}

  Result<void> run(SegmentSummary& summary) {
    Result<void> outcome;
    base::run_ordered_pipeline<std::unique_ptr<FrameWork>>(
        threads_, 2 * threads_, [this] { return produce(); },
        [this](std::unique_ptr<FrameWork>& work, unsigned worker) { decode(*work, worker); },
        [&](std::unique_ptr<FrameWork>& work) {
          outcome = commit(*work, summary);
          idle_.push_back(std::move(work));
          return outcome.has_value();
        });
    return outcome;
  }

 private:
  std::optional<std::unique_ptr<FrameWork>> produce() {
    if (next_ == frames_.size()) {
      return std::nullopt;
    }
    std::unique_ptr<FrameWork> work;
    if (idle_.empty()) {
      work = std::make_unique<FrameWork>();
    } else {
      work = std::move(idle_.back());
      idle_.pop_back();
    }
    work->frame = frames_[next_++];
    return work;
  }

  void decode(FrameWork& work, unsigned worker) {
    work.bytes.resize(work.frame.frame_bytes);
    work.read = file_.read(work.bytes, work.frame.offset + k_length_prefix_bytes);
    if (work.read) {
      work.fault = decoders_[worker].decode(work.bytes, k_max_body_bytes, work.block);
      if (!work.fault) {
        work.summary.summarize(work.block.columns);
      }
    }
  }

  Result<void> commit(const FrameWork& work, SegmentSummary& summary) const {
    VARVE_TRY(work.read);
    const FrameRef& frame = work.frame;
    if (work.fault) {
      return std::unexpected(
          damage(file_, frame.offset, frame.end() - frame.offset, "block", k_decode,
                 std::string("a frame of the segment does not decode: ") + work.fault->word));
    }
    const IndexEntry entry = implied_entry(frame, work.block);
    if (entry.event_count != 0 && summary.event_count() != 0 &&
        entry.min_seq <= summary.max_seq()) {
      return std::unexpected(damage(file_, frame.offset, frame.end() - frame.offset, "block",
                                    k_corrupt_segment, "sequence numbers do not ascend"));
    }
    summary.add(work.summary, entry);
    return {};
  }

  const SegmentFile& file_;
  const std::vector<FrameRef>& frames_;
  unsigned threads_;
  std::vector<FrameDecoder> decoders_;
  std::vector<std::unique_ptr<FrameWork>> idle_;
  std::size_t next_ = 0;
};

// What the walk met that is no tail: committed bytes are hurt, so nothing may be cut.
std::optional<Error> refusal_of(const SegmentFile& file, const SegmentWalk& walk) {
  for (const FrameRef& frame : walk.frames) {
    if (frame.prefix_differs() && !base::mutant("jss-prefix")) {
      return damage(file, frame.offset, k_length_prefix_bytes, "block", k_corrupt_segment,
                    "the length prefix of a whole frame is wrong");
    }
  }
  if (!walk.gaps.empty() && !base::mutant("jss-gaps")) {
    return damage(file, walk.gaps.front().offset, walk.gaps.front().length, "block",
                  k_corrupt_segment, "bytes between frames that are no frame");
  }
  if (walk.too_many) {
    return damage(file, walk.frames_end, 0, "block", k_corrupt_segment, "more than 2^20 blocks");
  }
  if (walk.tail == TailState::unreadable && !base::mutant("jss-unreadable-tail")) {
    return damage(file, walk.frames_end, file.size() - walk.frames_end, "block", k_corrupt_segment,
                  "what follows the last whole frame is no tail that a crash explains");
  }
  return std::nullopt;
}

// Whether the file goes on behind `offset` with exactly these bytes and then ends.
Result<bool> ends_with(const SegmentFile& file, std::uint64_t offset, base::ByteSpan bytes) {
  if (base::mutant("jss-seal-compare")) {
    return true;
  }
  if (file.size() - offset != bytes.size()) {
    return false;
  }
  base::Bytes buffer;
  for (std::size_t at = 0; at < bytes.size(); at += buffer.size()) {
    buffer.resize(std::min(k_compare_bytes, bytes.size() - at));
    VARVE_TRY(file.read(buffer, offset + at));
    if (!std::equal(buffer.begin(), buffer.end(),
                    bytes.begin() + static_cast<std::ptrdiff_t>(at))) {
      return false;
    }
  }
  return true;
}

}  // namespace

Result<bool> is_unborn(const SegmentFile& file) {
  if (file.size() == 0) {
    return true;
  }
  return file.size() == k_header_bytes ? all_zero(file, 0, file.size()) : Result<bool>(false);
}

std::string_view to_text(RecoveryStep step) {
  switch (step) {
    case RecoveryStep::none:
      return "none";
    case RecoveryStep::write_header:
      return "write header";
    case RecoveryStep::truncate:
      return "truncate";
    case RecoveryStep::complete_seal:
      return "complete seal";
  }
  return "none";
}

Result<RecoveryDecision> decide_recovery(const SegmentFile& file, const RecoveryOptions& options) {
  RecoveryDecision decision;
  decision.size_bytes = file.size();
  decision.frames_end = k_first_frame_offset;
  VARVE_ASSIGN(const bool unborn, is_unborn(file));
  if (unborn) {
    decision.step = RecoveryStep::write_header;
    return decision;
  }
  VARVE_ASSIGN(const SegmentHead head, read_head(file));
  if (head.state == SegmentState::sealed) {
    return fail(ErrorCode::invalid_argument, "SegmentSealed", "the segment is sealed", file.path());
  }
  if (head.state != SegmentState::active) {
    Error error = to_error(*head.fault);
    error.path = file.path();
    return std::unexpected(std::move(error));
  }
  VARVE_ASSIGN(const SegmentWalk walk, walk_segment(file, head, nullptr, WalkOptions{}));
  if (auto refusal = refusal_of(file, walk)) {
    return std::unexpected(*std::move(refusal));
  }
  VARVE_TRY(FrameReplay(file, walk.frames, options.threads).run(decision.summary));
  decision.tail = walk.tail;
  decision.frames_end = walk.frames_end;
  if (walk.tail == TailState::whole) {
    return decision;
  }
  decision.step = RecoveryStep::truncate;
  if (walk.tail == TailState::orphaned_footer && options.complete_seals) {
    base::ZstdEncoder encoder(k_compression_level);
    VARVE_ASSIGN(SealedParts parts, encode_footer(decision.summary, walk.frames_end,
                                                  envelope_of(decision.summary), encoder));
    VARVE_ASSIGN(const bool whole, ends_with(file, walk.frames_end, parts.footer));
    if (whole) {
      decision.step = RecoveryStep::complete_seal;
      decision.sealed = std::move(parts);
    }
  }
  return decision;
}

Result<void> apply_recovery(io::File& file, const RecoveryDecision& decision) {
  switch (decision.step) {
    case RecoveryStep::none:
      return {};
    case RecoveryStep::write_header:
      VARVE_TRY(file.write_at(active_header(), 0));
      break;
    case RecoveryStep::truncate:
      VARVE_TRY(file.truncate(decision.frames_end - (base::mutant("jss-truncate-off") ? 1 : 0)));
      break;
    case RecoveryStep::complete_seal:
      // The footer may be in the cache only; it must not be outlived by the header.
      if (!base::mutant("jss-recovery-order")) {
        VARVE_TRY(file.sync());
      }
      VARVE_TRY(file.write_at(decision.sealed->header_bytes, 0));
      break;
  }
  return file.sync();
}

}  // namespace varve::jss
