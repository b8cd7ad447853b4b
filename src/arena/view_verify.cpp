// SPDX-License-Identifier: MIT OR Apache-2.0
// `verify`: every frame, the ends, what stands behind them, and the payloads where store.json says
// what they must be.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "arena/findings.hpp"
#include "arena/header_walk.hpp"
#include "arena/log_walk.hpp"
#include "arena/view.hpp"
#include "model/receipt_work.hpp"

namespace varve::arena {

namespace {

class Verifier {
 public:
  struct Issue {
    std::uint64_t offset = 0;
    std::uint64_t frame = 0;  // in the chunk
    PayloadFault fault;
  };
  struct Output {
    std::vector<Issue> issues;
    std::array<std::uint64_t, k_payload_classes> classes{};
    std::uint64_t frames = 0;
  };

  Verifier(const PayloadContext& payloads, unsigned threads, const VerifyRequest& request,
           VerifyReport& report)
      : payloads_(payloads),
        scratch_(base::thread_count(threads)),
        request_(request),
        report_(report) {}

  void use(FindingSink& findings) { findings_ = &findings; }
  void expect(std::uint64_t total_bytes) { total_bytes_ = total_bytes; }
  // The next segment is walked from behind so many frames.
  void resume_behind(std::uint64_t frames) { frames_before_ = frames; }
  // How far the segment that was walked last is proven, if it has frames and nothing is wrong with
  // any of them; 0 otherwise.
  std::uint64_t proven_bytes() const { return complaints_ == 0 ? proven_bytes_ : 0; }
  std::uint64_t frames() const { return index_; }

  void begin(Output& output, const RawChunk&) {
    output.issues.clear();
    output.classes = {};
    output.frames = 0;
  }
  std::byte* room(Output&, const PlannedFrame& frame, unsigned worker) {
    return scratch_[worker].room.reserve(frame.header.raw_len);
  }
  void frame(Output& output, const PlannedFrame& frame, base::ByteSpan payload, unsigned worker) {
    if (payloads_.rules_apply) {
      const PayloadView view = look_at_payload(payloads_, payload, scratch_[worker].payload);
      ++output.classes[static_cast<std::size_t>(view.what)];
      if (view.fault) {
        output.issues.push_back({frame.offset, output.frames, *view.fault});
      }
    }
    ++output.frames;
  }
  void finish(Output&, unsigned) {}

  Result<bool> deliver(Output& output, std::span<const PlannedFrame> frames) {
    for (const Issue& issue : output.issues) {
      add(payload_finding(*context_, issue.offset, index_ + issue.frame, issue.fault));
    }
    for (std::size_t i = 0; i < k_payload_classes; ++i) {
      classes_[i] += output.classes[i];
    }
    index_ += frames.size();
    report_.counts.units += frames.size();
    report_.counts.records += frames.size();
    report_.intact_records += frames.size();
    for (const PlannedFrame& frame : frames) {
      report_.counts.bytes += frame.header.frame_bytes();
    }
    if (request_.progress) {
      request_.progress(report_.counts.bytes, std::max(total_bytes_, report_.counts.bytes));
    }
    return true;
  }

  void segment(const SegmentContext& context) {
    context_ = &context;
    index_ = std::exchange(frames_before_, 0);
    complaints_ = 0;
    proven_bytes_ = 0;
    ++report_.counts.segments;
    ++report_.counts.files;
  }

  Result<bool> damage(const SegmentContext& context, const Damage& damage) {
    add(damage_finding(context, damage, index_));
    switch (damage.kind) {
      case Damage::Kind::committed:
      case Damage::Kind::earlier:
        ++report_.lost_records;
        ++report_.counts.records;
        break;
      case Damage::Kind::torn:
      case Damage::Kind::limit:
      case Damage::Kind::undecided:
        ++report_.unknown_records;
        ++report_.counts.records;
        break;
      case Damage::Kind::in_progress:
        return true;
    }
    committed_ = committed_ || damage.kind == Damage::Kind::committed ||
                 damage.kind == Damage::Kind::undecided;
    ++index_;
    ++report_.counts.units;
    if (damage.resume) {
      report_.counts.bytes += *damage.resume - damage.at.offset;
    }
    return true;
  }

  Result<void> end(const SegmentContext& context, const SegmentEnd& end, TailScanner& scanner) {
    using Kind = SegmentEnd::Kind;
    // What stands at the end and behind it is looked at again each time.
    const std::uint64_t complaints = complaints_;
    proven_bytes_ = end.kind == Kind::damaged ? 0 : end.offset;
    if (end.kind == Kind::marker || (end.kind == Kind::zero_header && end.offset > 0)) {
      ++report_.counts.units;
      report_.counts.bytes += k_header_bytes;
    }
    if (end.kind == Kind::zero_header && end.offset > 0) {
      add(note_finding("legacy-zero-terminator", context.path(),
                       "the segment ends with zeros instead of an end marker", end.offset));
    }
    VARVE_ASSIGN(const auto behind, look_behind(context.image, end, scanner));
    if (behind && !moved_on_meanwhile(context.image, end)) {
      add(behind_finding(context, *behind));
    }
    complaints_ = complaints;
    return {};
  }

  // Payloads that were not looked into, in one note each.
  void summarize(const StoreMap& map) {
    const auto count = [&](PayloadClass what) { return classes_[static_cast<std::size_t>(what)]; };
    if (count(PayloadClass::encrypted) > 0) {
      add(note_finding("encrypted", map.live_prefix,
                       fmt::format("{} payloads are encrypted: their frames are what is verified",
                                   count(PayloadClass::encrypted))));
    }
    if (count(PayloadClass::txn3) > 0) {
      add(note_finding("unsupported-payload", map.live_prefix,
                       fmt::format("{} payloads are HMS-TXN-3, which is not interpreted: their "
                                   "frames are what is verified",
                                   count(PayloadClass::txn3))));
    }
    if (payloads_.key) {
      add(note_finding("encryption-unconfirmed", map.live_prefix,
                       "decrypted with key derivation costs that no real store has confirmed"));
    }
  }

  bool met_committed_damage() const { return committed_; }

 private:
  struct Scratch {
    base::Buffer room;
    PayloadScratch payload;
  };

  void add(Finding finding) {
    if (finding.severity == Severity::error) {
      report_.verdict = worse(report_.verdict, finding.verdict);
    }
    ++complaints_;
    findings_->add(std::move(finding));
  }

  // Whether a writer began a frame at the end while we looked behind it.
  static bool moved_on_meanwhile(const SegmentImage& image, const SegmentEnd& end) {
    std::byte bytes[k_header_bytes];
    if (!image.read(bytes, end.offset)) {
      return false;
    }
    const UnitKind now =
        check_header(decode_header(bytes), image.logical_bytes() - end.offset).kind;
    return now == UnitKind::frame;
  }

  const PayloadContext& payloads_;
  std::vector<Scratch> scratch_;
  const VerifyRequest& request_;
  VerifyReport& report_;
  FindingSink* findings_ = nullptr;
  const SegmentContext* context_ = nullptr;
  std::array<std::uint64_t, k_payload_classes> classes_{};
  std::uint64_t index_ = 0;
  std::uint64_t total_bytes_ = 0;
  bool committed_ = false;
  std::uint64_t frames_before_ = 0;
  std::uint64_t complaints_ = 0;  // about the segment at hand
  std::uint64_t proven_bytes_ = 0;
};

// Walks a segment, from where a receipt's proof of it ends if that still stands.
Result<void> verify_segment(const StoreMap& map, std::size_t position, const WalkOptions& options,
                            Verifier& verifier, VerifyReport& report, model::ReceiptWork& receipt) {
  VARVE_ASSIGN(const auto image, open_for_walk(map, position));
  const std::string path = map.segment_path(map.segments[position]);
  VARVE_ASSIGN(const VerifyReceipt::Part* const part, receipt.standing_part(image->file(), path));
  std::uint64_t start = 0;
  if (part != nullptr) {
    start = part->proven_bytes;
    const std::uint64_t frames = part->number("frames");
    verifier.resume_behind(frames);
    report.counts.units += frames;
    report.counts.records += frames;
    report.intact_records += frames;
    receipt.taken(start);
  }
  VARVE_TRY(walk_image(map, position, *image, start, options, verifier));
  if (verifier.proven_bytes() != 0) {
    VerifyReceipt::Part proven;
    proven.file = path;
    proven.proven_bytes = verifier.proven_bytes();
    proven.closed = !map.is_final(position);
    proven.numbers = {{"frames", verifier.frames()}};
    VARVE_TRY(receipt.keep(image->file(), std::move(proven)));
  }
  return {};
}

// `--quick`: headers and tails only. Frames count as found, none as proven.
Result<void> quick_segment(const StoreMap& map, std::size_t position, const WalkOptions& options,
                           VerifyReport& report, FindingSink& findings) {
  VARVE_ASSIGN(const auto image, open_for_walk(map, position));
  const SegmentContext context{map, position, *image};
  VARVE_ASSIGN(const HeaderSummary summary, walk_headers(*image));
  ++report.counts.segments;
  ++report.counts.files;
  report.counts.units += summary.frames;
  report.counts.records += summary.frames;
  report.counts.bytes += (summary.frames + 1) * k_header_bytes;
  report.intact_records += summary.frames;
  if (summary.end.kind != UnitKind::invalid) {
    return {};
  }
  TailScanner scanner(*image);
  VARVE_ASSIGN(const Damage damage,
               judge(*image, context.is_final(), summary.end, options, scanner));
  Finding finding = damage_finding(context, damage, summary.frames);
  if (finding.severity == Severity::error) {
    report.verdict = worse(report.verdict, finding.verdict);
    ++report.counts.records;
    ++(damage.kind == Damage::Kind::torn ? report.unknown_records : report.lost_records);
  }
  findings.add(std::move(finding));
  return {};
}

// Informational: sidecars that newer releases write (section 1.1).
Result<void> note_sidecars(const StoreMap& map, FindingSink& findings) {
  const auto missing = [&](const io::Directory& directory, std::string_view name,
                           const std::string& prefix) {
    const bool present = directory.identity_of(name).has_value();
    const std::string sidecar = std::string(name) + std::string(k_sidecar_suffix);
    if (present && !directory.identity_of(sidecar)) {
      findings.add(note_finding("no-checksum-sidecar", prefix + std::string(name),
                                "there is no checksum beside this file"));
    }
  };
  if (!map.arena_prefix.empty()) {
    missing(*map.store, k_schema_name, "");
  }
  if (map.live) {
    missing(*map.live, k_manifest_name, map.live_prefix);
  }
  return {};
}

}  // namespace

Result<VerifyReport> ArenaView::verify(const VerifyRequest& request, FindingSink& findings) {
  VerifyReport report;
  report.path = map_.path;
  report.format = "arena";
  report.version = map_.geometry.version;
  report.verdict = report_structure(findings);
  report.counts.bytes = map_.other_bytes;
  report.counts.files =
      (map_.schema_present ? 1 : 0) + (map_.manifest ? 1 : 0) + (map_.pointer_present ? 1 : 0);
  VARVE_TRY(note_sidecars(map_, findings));
  if (!map_.live || (map_.refusal && map_.refusal->reason == "unsupported-format")) {
    return report;
  }
  const WalkOptions options = walk_options(Policy::report, request.threads);
  if (request.quick) {
    for (std::size_t i = 0; i < map_.segments.size(); ++i) {
      VARVE_TRY(quick_segment(map_, i, options, report, findings));
    }
    return report;
  }

  Verifier verifier(payloads_, options.threads, request, report);
  std::uint64_t total = 0;
  for (const SegmentFile& segment : map_.segments) {
    total += std::min(segment.allocated_bytes, segment.file_bytes);
  }
  verifier.expect(total);
  model::ReceiptWork receipt(request, map_.live_name, options_.options, report, findings);
  // The format looks at the last segment first, when it opens; a finding there is its first word.
  FindingList last_segment;
  const std::size_t count = map_.segments.size();
  if (count > 1) {
    verifier.use(last_segment);
    VARVE_TRY(verify_segment(map_, count - 1, options, verifier, report, receipt));
  }
  const bool last_first = verifier.met_committed_damage();
  const auto pass_on = [&] {
    for (Finding& finding : last_segment.findings()) {
      findings.add(std::move(finding));
    }
  };
  if (last_first) {
    pass_on();
  }
  verifier.use(findings);
  for (std::size_t i = 0; i + (count > 1 ? 1 : 0) < count; ++i) {
    VARVE_TRY(verify_segment(map_, i, options, verifier, report, receipt));
  }
  if (!last_first) {
    pass_on();
  }
  verifier.summarize(map_);
  receipt.finish();
  return report;
}

}  // namespace varve::arena
