// SPDX-License-Identifier: MIT OR Apache-2.0
// `stats`: distributions over the frames and their transactions.
#include "arena/findings.hpp"
#include "arena/log_walk.hpp"
#include "arena/view.hpp"
#include "model/tally.hpp"

namespace varve::arena {

namespace {

constexpr std::string_view k_class_names[k_payload_classes] = {"HMS-TXN-2", "HMS-TXN-3",
                                                               "encrypted", "other", "refused"};

class Counter {
 public:
  struct Output {
    std::array<std::uint64_t, k_payload_classes> forms{};
    std::array<std::uint64_t, k_payload_classes> form_bytes{};
    std::array<std::uint64_t, k_mutation_kinds> kinds{};
    std::array<std::uint64_t, k_mutation_kinds> kind_bytes{};
    std::vector<std::uint32_t> mutations;  // of each HMS-TXN-2 frame
  };
  Counter(const PayloadContext& payloads, unsigned threads, FindingSink& findings)
      : payloads_(payloads), scratch_(base::thread_count(threads)), findings_(findings) {}

  void begin(Output& output, const RawChunk&) { output = {}; }
  std::byte* room(Output&, const PlannedFrame& frame, unsigned worker) {
    return scratch_[worker].room.reserve(frame.header.raw_len);
  }
  void frame(Output& output, const PlannedFrame&, base::ByteSpan payload, unsigned worker) {
    PayloadScratch& scratch = scratch_[worker].payload;
    const PayloadView view = look_at_payload(payloads_, payload, scratch);
    const auto form = static_cast<std::size_t>(view.what);
    ++output.forms[form];
    output.form_bytes[form] += payload.size();
    if (view.what != PayloadClass::txn2) {
      return;
    }
    output.mutations.push_back(static_cast<std::uint32_t>(scratch.mutations.size()));
    for (const Mutation& mutation : scratch.mutations) {
      const auto kind = static_cast<std::size_t>(mutation.kind);
      ++output.kinds[kind];
      for (const std::string_view value : mutation.values) {
        output.kind_bytes[kind] += value.size();
      }
    }
  }
  void finish(Output&, unsigned) {}

  Result<bool> deliver(Output& output, std::span<const PlannedFrame> frames) {
    for (const PlannedFrame& frame : frames) {
      payload_size_.add(frame.header.raw_len);
      stored_size_.add(frame.header.comp_len);
      ratio_.add(std::uint64_t{frame.header.comp_len} * 100 / frame.header.raw_len);
      segment_bytes_ += frame.header.frame_bytes();
    }
    segment_frames_ += frames.size();
    for (std::size_t i = 0; i < k_payload_classes; ++i) {
      if (output.forms[i] > 0) {
        forms_.add(k_class_names[i], output.forms[i], output.form_bytes[i]);
      }
    }
    for (std::size_t i = 0; i < k_mutation_kinds; ++i) {
      if (output.kinds[i] > 0) {
        kinds_.add(to_text(static_cast<MutationKind>(i)), output.kinds[i], output.kind_bytes[i]);
      }
    }
    for (const std::uint32_t count : output.mutations) {
      mutations_.add(count);
    }
    return true;
  }
  void segment(const SegmentContext&) {
    segment_frames_ = 0;
    segment_bytes_ = 0;
  }
  Result<bool> damage(const SegmentContext& context, const Damage& damage) {
    findings_.add(damage_finding(context, damage, segment_frames_));
    return true;
  }
  Result<void> end(const SegmentContext& context, const SegmentEnd&, TailScanner&) {
    segments_.add(context.file().name, segment_frames_, segment_bytes_);
    return {};
  }

  StatsReport report() const {
    StatsReport out;
    out.distributions.push_back(payload_size_.finish("payload size", "bytes"));
    out.distributions.push_back(stored_size_.finish("stored size", "bytes"));
    out.distributions.push_back(ratio_.finish("stored of payload", "percent"));
    out.distributions.push_back(mutations_.finish("mutations a transaction", "mutations"));
    out.distributions.push_back(forms_.finish("payload form", "frames"));
    out.distributions.push_back(kinds_.finish("mutation kind", "mutations"));
    out.distributions.push_back(segments_.finish("frames a segment", "frames"));
    return out;
  }

 private:
  struct Scratch {
    base::Buffer room;
    PayloadScratch payload;
  };
  const PayloadContext& payloads_;
  std::vector<Scratch> scratch_;
  FindingSink& findings_;
  model::Tally payload_size_;
  model::Tally stored_size_;
  model::Tally ratio_;
  model::Tally mutations_;
  model::CategoryTally forms_;
  model::CategoryTally kinds_;
  model::CategoryTally segments_;
  std::uint64_t segment_frames_ = 0;
  std::uint64_t segment_bytes_ = 0;
};

}  // namespace

Result<StatsReport> ArenaView::stats(FindingSink& findings) {
  report_structure(findings);
  if (!map_.live) {
    return StatsReport{};
  }
  const WalkOptions options = walk_options(Policy::report, 0);
  Counter counter(payloads_, options.threads, findings);
  VARVE_TRY(walk_log(map_, options, counter));
  return counter.report();
}

}  // namespace varve::arena
