// SPDX-License-Identifier: MIT OR Apache-2.0
#include "arena/findings.hpp"

#include <fmt/format.h>

#include "arena/recovery.hpp"

namespace varve::arena {

Finding damage_finding(const SegmentContext& segment, const Damage& damage, std::uint64_t index) {
  Finding finding;
  finding.file = segment.path();
  finding.offset = damage.at.offset;
  finding.unit = "frame";
  finding.index = index;
  finding.code = damage.at.fault.word;
  finding.expected = damage.at.fault.expected;
  finding.actual = damage.at.fault.actual;
  finding.message = damage_text(damage);
  if (damage.resume) {
    finding.length = *damage.resume - damage.at.offset;
  } else if (damage.at.kind == UnitKind::frame ||
             std::string_view(damage.at.fault.word) == reason::k_lz4 ||
             std::string_view(damage.at.fault.word) == reason::k_crc) {
    finding.length = damage.at.header.frame_bytes();
  } else {
    finding.length = k_header_bytes;
  }
  switch (damage.kind) {
    case Damage::Kind::torn:
      finding.verdict = Verdict::torn;
      finding.kind = finding.code;
      finding.code = "torn-tail";
      break;
    case Damage::Kind::committed:
      finding.kind = "corrupt-committed";
      break;
    case Damage::Kind::earlier:
      finding.kind = "corrupt-frame";
      break;
    case Damage::Kind::in_progress:
      finding.severity = Severity::note;
      finding.code = "append-in-progress";
      break;
    case Damage::Kind::limit:
      finding.verdict = Verdict::unknown;
      finding.code = "limit";
      finding.actual = Number::decimal(damage.at.header.raw_len);
      break;
    case Damage::Kind::undecided:
      finding.verdict = Verdict::unknown;
      finding.kind = finding.code;
      finding.code = "scan-limit";
      break;
  }
  return finding;
}

Finding behind_finding(const SegmentContext& segment, const BehindEnd& behind) {
  Finding finding;
  finding.file = segment.path();
  finding.offset = behind.frame ? behind.frame->offset : behind.first_nonzero;
  finding.length = behind.last_nonzero + 1 - finding.offset;
  if (behind.frame) {
    finding.severity = Severity::warning;
    finding.code = "frames-behind-end";
    finding.unit = "frame";
    finding.message = fmt::format(
        "a valid frame stands behind the end of the segment: remains of an older log, or frames "
        "hidden by a damaged header; bytes {} to {} are not zero",
        behind.first_nonzero, behind.last_nonzero);
    return finding;
  }
  finding.severity = Severity::note;
  finding.code = "remains-behind-end";
  finding.unit = "tail";
  finding.message =
      behind.undecided
          ? "bytes behind the end are not zero; whether they hold a frame was too expensive to tell"
          : "bytes behind the end of the segment are not zero: remains of a torn or lost append";
  return finding;
}

Finding payload_finding(const SegmentContext& segment, std::uint64_t frame_offset,
                        std::uint64_t index, const PayloadFault& fault) {
  Finding finding;
  const bool unsupported = std::string_view(fault.word) == "unsupported-payload";
  finding.severity = unsupported ? Severity::warning : Severity::error;
  if (std::string_view(fault.word) == "decrypt-failed") {
    finding.verdict = Verdict::unknown;  // the passphrase may be wrong
  }
  finding.code = fault.word;
  finding.file = segment.path();
  finding.offset = frame_offset;
  finding.unit = "payload";
  finding.index = index;
  finding.message = fmt::format("{} (byte {} of the payload)", fault.what, fault.offset);
  return finding;
}

Finding note_finding(std::string code, std::string file, std::string message,
                     std::uint64_t offset) {
  Finding finding;
  finding.severity = Severity::note;
  finding.code = std::move(code);
  finding.file = std::move(file);
  finding.message = std::move(message);
  finding.offset = offset;
  return finding;
}

}  // namespace varve::arena
