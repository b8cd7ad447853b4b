// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/walker.hpp"

#include <limits>
#include <string>
#include <utility>

#include "jss/tail.hpp"

namespace varve::jss {

namespace {

// The fewest bytes that can begin a frame: a prefix and the zstd magic.
constexpr std::uint64_t k_least_frame_bytes = k_length_prefix_bytes + 4;

// A walk over the length prefixes of one file.
class PrefixWalk {
 public:
  PrefixWalk(const SegmentFile& file, const SegmentHead& head, const WalkOptions& options)
      : file_(file),
        active_(head.state == SegmentState::active),
        policy_(options.policy),
        from_(options.from),
        live_(options.live),
        reader_(file),
        prover_(file, options.max_memory_bytes) {
    // Where the header's offsets make no sense, the frames end where they end.
    end_known_ = active_ || head.layout_holds;
    end_ = active_ || !head.layout_holds ? file.size() : head.header.footer_offset;
    walk_.region_end = end_;
  }

  Result<SegmentWalk> run() {
    std::uint64_t at = from_;
    while (at < end_) {
      if (walk_.frames.size() == k_max_blocks) {
        walk_.too_many = true;
        break;
      }
      VARVE_ASSIGN(std::optional<FrameRef> frame, frame_at(at));
      if (!frame && !live_) {
        VARVE_ASSIGN(frame, behind_trouble(at));
      }
      if (!frame) {
        break;
      }
      at = frame->end();
      walk_.frames.push_back(*frame);
    }
    walk_.frames_end = walk_.frames.empty() ? from_ : walk_.frames.back().end();
    return std::move(walk_);
  }

 private:
  // The frame at `at`, if it is certain where it ends. It may still fail to decode.
  Result<std::optional<FrameRef>> frame_at(std::uint64_t at) {
    const std::uint64_t left = end_ - at;
    extent_ = FrameExtent{};
    prefix_ = std::numeric_limits<std::uint64_t>::max();
    if (left < k_length_prefix_bytes) {
      return std::optional<FrameRef>();
    }
    VARVE_ASSIGN(const std::byte* const p, reader_.read(at, k_length_prefix_bytes));
    prefix_ = base::u64le(p);
    std::uint64_t budget = std::numeric_limits<std::uint64_t>::max();
    VARVE_ASSIGN(extent_, probe_frame(reader_, at + k_length_prefix_bytes, end_, budget));
    const bool complete = extent_.kind == FrameExtent::Kind::complete;
    if (complete && extent_.bytes == prefix_) {
      return std::optional(FrameRef{at, prefix_, prefix_});
    }
    // The two witnesses disagree. Content decides for the structure; else the prefix is believed
    // if something follows where it points.
    if (complete) {
      VARVE_ASSIGN(const bool proven, prover_.prove(at + k_length_prefix_bytes, extent_.bytes));
      if (proven) {
        return std::optional(FrameRef{at, extent_.bytes, prefix_});
      }
    }
    if (policy_ == WalkPolicy::strict || prefix_ > left - k_length_prefix_bytes) {
      return std::optional<FrameRef>();
    }
    VARVE_ASSIGN(const bool tail, is_tail(at));
    if (tail) {
      return std::optional<FrameRef>();
    }
    VARVE_ASSIGN(const bool plausible, may_follow(at + k_length_prefix_bytes + prefix_));
    return plausible ? std::optional(FrameRef{at, prefix_, prefix_}) : std::nullopt;
  }

  // True if a frame, or the footer, or the end can be at `at`.
  Result<bool> may_follow(std::uint64_t at) {
    if (at == end_) {
      return true;
    }
    if (end_ - at >= k_least_frame_bytes) {
      VARVE_ASSIGN(const std::byte* const p, reader_.read(at + k_length_prefix_bytes, 4));
      if (base::u32le(p) == k_zstd_magic) {
        return true;
      }
    }
    return may_be_footer(reader_, walk_.frames, at);
  }

  // Zeros or a footer: what else a length may point over.
  Result<bool> is_tail(std::uint64_t at) {
    if (extent_.kind != FrameExtent::Kind::no_frame) {
      return false;
    }
    VARVE_ASSIGN(const bool zero, is_zero_tail(at));
    if (zero) {
      return true;
    }
    return matches_footer(file_, walk_.frames, at, end_, prover_);
  }

  // Everything from `at`, or from behind the prefix there, is zero.
  Result<bool> is_zero_tail(std::uint64_t at) {
    const std::uint64_t from = end_ - at > k_length_prefix_bytes ? at + k_length_prefix_bytes : at;
    return all_zero(file_, from, end_);
  }

  // At `at` no frame can be told. Finds the next one that can, or says what the rest is.
  Result<std::optional<FrameRef>> behind_trouble(std::uint64_t at) {
    if (active_) {
      VARVE_ASSIGN(const bool zero, is_zero_tail(at));
      if (zero) {
        walk_.tail = TailState::zero;
        return std::optional<FrameRef>();
      }
    }
    VARVE_ASSIGN(const bool footer, matches_footer(file_, walk_.frames, at, end_, prover_));
    if (footer) {
      walk_.tail = active_ ? TailState::orphaned_footer : TailState::whole;
      walk_.region_end = at;
      return std::optional<FrameRef>();
    }
    VARVE_ASSIGN(auto found, hunt_frame(file_, at, end_, policy_, prover_));
    if (found) {
      walk_.gaps.push_back({at, found->offset - at, walk_.frames.size()});
      // What strict has to say is said; the frame behind proves that this is no torn tail.
      return policy_ == WalkPolicy::strict ? std::nullopt : found;
    }
    if (active_) {
      const bool overruns =
          end_ - at < k_length_prefix_bytes || prefix_ > end_ - at - k_length_prefix_bytes;
      const bool torn = overruns && extent_.kind != FrameExtent::Kind::complete;
      walk_.tail = torn ? TailState::torn : TailState::unreadable;
    } else if (end_known_) {
      walk_.gaps.push_back({at, end_ - at, walk_.frames.size()});
    } else {
      walk_.region_end = at;
    }
    return std::optional<FrameRef>();
  }

  const SegmentFile& file_;
  bool active_;
  bool end_known_;
  WalkPolicy policy_;
  std::uint64_t from_;
  bool live_;
  WindowReader reader_;
  FrameProver prover_;
  std::uint64_t end_;
  FrameExtent extent_;        // of the place that frame_at looked at last
  std::uint64_t prefix_ = 0;  // likewise
  SegmentWalk walk_;
};

SegmentWalk walk_by_index(const SegmentHead& head, const std::vector<IndexEntry>& index) {
  SegmentWalk walk;
  walk.by_index = true;
  walk.region_end = head.header.footer_offset;
  walk.frames.reserve(index.size());
  for (const IndexEntry& e : index) {
    walk.frames.push_back({e.offset, e.compressed_size, e.compressed_size});
  }
  if (!walk.frames.empty()) {
    walk.frames_end = walk.frames.back().end();
  }
  return walk;
}

}  // namespace

Result<SegmentWalk> walk_segment(const SegmentFile& file, const SegmentHead& head,
                                 const Footer* footer, const WalkOptions& options) {
  if (footer != nullptr && footer->trusted) {
    return walk_by_index(head, *footer->index);
  }
  if (head.raw_bytes < k_header_bytes) {
    SegmentWalk walk;
    walk.frames_end = walk.region_end = file.size();
    return walk;
  }
  VARVE_ASSIGN(SegmentWalk walk, PrefixWalk(file, head, options).run());
  const bool hurt = walk.tail == TailState::unreadable || !walk.gaps.empty();
  if (hurt) {
    VARVE_TRY(file.still_whole());
    // A writer may have cut and rewritten the tail while it was read: look again, once.
    VARVE_ASSIGN(const bool touched, file.touched());
    if (touched && head.state == SegmentState::active) {
      return PrefixWalk(file, head, options).run();
    }
  }
  return walk;
}

Finding gap_finding(const SegmentFile& file, const WalkGap& gap) {
  return make_finding(k_decode, k_stage_decode, file.name(), gap.offset, gap.length, "block",
                      "no frame can be told here; the next place where one is proven, or the end "
                      "of the frames, is " +
                          std::to_string(gap.length) + " bytes further");
}

Finding prefix_finding(const SegmentFile& file, const FrameRef& frame, std::uint64_t index) {
  Finding finding = make_finding(
      k_decode, k_stage_decode, file.name(), frame.offset, k_length_prefix_bytes, "length prefix",
      "the length prefix is damaged; the frame behind it is whole and was read by its own length");
  finding.index = index;
  finding.expected = Number::decimal(frame.frame_bytes);
  finding.actual = Number::decimal(frame.prefix);
  return finding;
}

Finding tail_finding(const SegmentFile& file, const SegmentWalk& walk) {
  struct Words {
    const char* code;
    const char* stage;
    Verdict verdict;
    const char* message;
  };
  const auto words = [&]() -> Words {
    switch (walk.tail) {
      case TailState::torn:
        return {"torn-tail", k_stage_open, Verdict::torn,
                "the segment ends in an incomplete frame; everything before it is whole. The "
                "reference cuts it off when it opens the file"};
      case TailState::zero:
        return {"zero-tail", k_stage_open, Verdict::torn,
                "the segment ends in zeros that were never synced; everything before them is "
                "whole. The reference refuses to open the file"};
      case TailState::orphaned_footer:
        return {"orphaned-footer", k_stage_open, Verdict::torn,
                "the segment ends in the footer of a seal that was interrupted before the header "
                "was written; all frames are whole. The reference refuses to open the file"};
      default:
        return {k_decode, k_stage_decode, Verdict::damaged,
                "the bytes behind the last frame are neither a frame nor an incomplete one, "
                "zeros or a footer"};
    }
  }();
  Finding finding = make_finding(words.code, words.stage, file.name(), walk.frames_end,
                                 file.size() - walk.frames_end, "tail", words.message);
  finding.verdict = words.verdict;
  finding.index = walk.frames.size();
  return finding;
}

Finding too_many_finding(const SegmentFile& file, const SegmentWalk& walk) {
  Finding finding = make_finding("limit", k_stage_open, file.name(), walk.frames_end,
                                 walk.region_end - walk.frames_end, "block",
                                 "more frames than a segment can have; the rest was not read");
  finding.verdict = Verdict::unknown;
  finding.expected = Number::decimal(k_max_blocks);
  return finding;
}

}  // namespace varve::jss
