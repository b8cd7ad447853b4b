// SPDX-License-Identifier: MIT OR Apache-2.0
// `seal`: footer and header for the active segment (section 14.1).
#include <utility>

#include "jss/active_segment.hpp"
#include "jss/segment_directory.hpp"
#include "jss/seq_resumption.hpp"
#include "jss/writing.hpp"

namespace varve::jss {

namespace {

// The segment to seal: the single file, or the last of a directory, if it is active.
Result<std::optional<std::string>> name_to_seal(const StorePlace& place) {
  std::vector<NumberedSegment> segments;
  if (place.is_archive()) {
    VARVE_ASSIGN(segments, list_segments(*place.directory));
  } else {
    segments.push_back({0, *place.single_file, {}});
  }
  VARVE_ASSIGN(const bool active, last_is_active(*place.directory, segments));
  return active ? std::optional(segments.back().name) : std::nullopt;
}

void tell(WriteReport& report, const std::string& file, const SealedParts& parts) {
  report.actions.push_back({file, "write footer", parts.header.footer_offset, parts.footer.size()});
  report.actions.push_back({file, "write header", 0, k_header_bytes});
  report.detail.set("blocks", parts.header.block_count)
      .set("rows", parts.header.event_count)
      .set("unique_dids", parts.header.unique_did_count)
      .set("checksum", to_text(Number::hex64(parts.header.checksum)));
}

// What sealing would write, found out by reading alone.
Result<void> rehearse(const StorePlace& place, const std::string& name, const std::string& shown,
                      const WriteRequest& request, WriteReport& report) {
  VARVE_ASSIGN(auto file, place.directory->open_file(name, io::OpenMode::read));
  VARVE_ASSIGN(const auto segment, SegmentFile::adopt(std::move(file), name));
  VARVE_ASSIGN(const RecoveryDecision decision,
               decide_recovery(*segment, {.threads = request.threads, .complete_seals = false}));
  if (place.is_archive() && decision.summary.event_count() == 0) {
    return {};
  }
  if (decision.step != RecoveryStep::none) {
    report.actions.push_back({shown, std::string(to_text(decision.step)), decision.frames_end,
                              decision.size_bytes - decision.frames_end});
  }
  base::ZstdEncoder encoder(k_compression_level);
  VARVE_ASSIGN(const SealedParts parts, encode_footer(decision.summary, decision.frames_end,
                                                      envelope_of(decision.summary), encoder));
  tell(report, shown, parts);
  return {};
}

}  // namespace

Result<WriteReport> seal_store(io::FileSystem& files, const std::string& path,
                               const WriteRequest& request) {
  WriteReport report;
  report.dry_run = request.dry_run;
  VARVE_ASSIGN(const StorePlace place, open_place(files, path));
  VARVE_ASSIGN(const auto name, name_to_seal(place));
  if (!name) {
    return report;
  }
  const std::string shown = place.is_archive() ? place.prefix + *name : std::string();
  if (request.dry_run) {
    VARVE_TRY(rehearse(place, *name, shown, request, report));
    return report;
  }
  VARVE_ASSIGN(const auto active, ActiveSegment::resume(*place.directory, *name, request.threads));
  if (place.is_archive() && active->summary().event_count() == 0) {
    return report;
  }
  VARVE_ASSIGN(const SealedParts parts, active->seal());
  tell(report, shown, parts);
  return report;
}

}  // namespace varve::jss
