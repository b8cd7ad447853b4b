// SPDX-License-Identifier: MIT OR Apache-2.0
// `recover`: section 14.2 on what is not sealed.
#include <utility>
#include <vector>

#include "jss/names.hpp"
#include "jss/recovery.hpp"
#include "jss/segment_directory.hpp"
#include "jss/seq_resumption.hpp"
#include "jss/writing.hpp"

namespace varve::jss {

namespace {

// The segments that recovery looks at: those that are not sealed.
Result<std::vector<std::string>> active_names(const StorePlace& place) {
  std::vector<std::string> names;
  if (!place.is_archive()) {
    VARVE_ASSIGN(const bool active,
                 last_is_active(*place.directory, {{0, *place.single_file, {}}}));
    if (active) {
      names.push_back(*place.single_file);
    }
    return names;
  }
  VARVE_ASSIGN(const auto segments, list_segments(*place.directory));
  for (const NumberedSegment& segment : segments) {
    VARVE_ASSIGN(auto file, place.directory->open_file(segment.name, io::OpenMode::read));
    VARVE_ASSIGN(const auto opened, SegmentFile::adopt(std::move(file), segment.name));
    VARVE_ASSIGN(const bool unborn, is_unborn(*opened));
    VARVE_ASSIGN(const SegmentHead head, read_head(*opened));
    if (unborn || head.state == SegmentState::active) {
      names.push_back(segment.name);
    }
  }
  return names;
}

WriteReport::Action action_of(const std::string& file, const RecoveryDecision& decision) {
  WriteReport::Action action;
  action.file = file;
  action.what = to_text(decision.step);
  switch (decision.step) {
    case RecoveryStep::truncate:
      action.offset = decision.frames_end;
      action.length = decision.size_bytes - decision.frames_end;
      break;
    case RecoveryStep::write_header:
    case RecoveryStep::complete_seal:
      action.length = k_header_bytes;
      break;
    case RecoveryStep::none:
      break;
  }
  return action;
}

std::string_view word_of(TailState tail) {
  switch (tail) {
    case TailState::whole:
      return "whole";
    case TailState::torn:
      return "torn";
    case TailState::zero:
      return "zero";
    case TailState::orphaned_footer:
      return "orphaned-footer";
    case TailState::unreadable:
      return "unreadable";
  }
  return "unreadable";
}

// Recovers one segment; gives what is told about it.
Result<Json> recover_segment(const StorePlace& place, const std::string& name,
                             const WriteRequest& request, WriteReport& report) {
  std::unique_ptr<io::File> writing;
  if (!request.dry_run) {
    VARVE_ASSIGN(writing, place.directory->open_file(name, io::OpenMode::read_write));
    VARVE_TRY(writing->lock(io::LockKind::exclusive));
  }
  VARVE_ASSIGN(auto file, place.directory->open_file(name, io::OpenMode::read));
  VARVE_ASSIGN(const auto segment, SegmentFile::adopt(std::move(file), name));
  VARVE_ASSIGN(const RecoveryDecision decision,
               decide_recovery(*segment, {.threads = request.threads, .complete_seals = true}));
  if (writing) {
    VARVE_TRY(apply_recovery(*writing, decision));
  }
  const std::string shown = place.is_archive() ? place.prefix + name : std::string();
  if (decision.step != RecoveryStep::none) {
    report.actions.push_back(action_of(shown, decision));
  }
  return std::move(Json::object()
                       .set("file", shown)
                       .set("tail", word_of(decision.tail))
                       .set("step", to_text(decision.step))
                       .set("rows", decision.summary.event_count())
                       .set("rows_end", decision.frames_end));
}

}  // namespace

Result<WriteReport> recover_store(io::FileSystem& files, const std::string& path,
                                  const WriteRequest& request) {
  WriteReport report;
  report.dry_run = request.dry_run;
  VARVE_ASSIGN(const StorePlace place, open_place(files, path));
  VARVE_ASSIGN(const auto names, active_names(place));
  Json segments = Json::array();
  for (const std::string& name : names) {
    VARVE_ASSIGN(Json told, recover_segment(place, name, request, report));
    segments.push(std::move(told));
  }
  report.detail.set("segments", std::move(segments));
  if (place.is_archive()) {
    VARVE_ASSIGN(const auto removed, remove_temporaries(*place.directory, request.dry_run));
    for (const std::string& name : removed) {
      report.actions.push_back({place.prefix + name, "remove", 0, 0});
    }
  }
  return report;
}

}  // namespace varve::jss
