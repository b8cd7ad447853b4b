// SPDX-License-Identifier: MIT OR Apache-2.0
// `backup`: a copy of a store whose writer and compactor may go on meanwhile.
#include <array>
#include <utility>

#include "jss/archive.hpp"
#include "jss/encode.hpp"
#include "jss/segment_directory.hpp"
#include "jss/writing.hpp"
#include "model/copy_catalogue.hpp"

namespace varve::jss {

namespace {

// How often a copy is begun again because a compaction put another file in a segment's place.
constexpr int k_most_attempts = 5;

// What of a file is copied. Of an active segment: the frames that are whole, behind a header that
// says active, whatever a seal that runs meanwhile puts there. Where bytes are hurt: all of them.
Result<model::CopyMember> copy_member_of(Archive& archive, std::size_t index) {
  const Member& member = archive.members()[index];
  model::CopyMember out;
  out.path = member.name.empty() ? member.label : member.name;
  out.length = member.identity.size_bytes;
  out.identity = member.identity;
  if (member.head.state != SegmentState::active) {
    return out;
  }
  VARVE_ASSIGN(const auto segment, archive.open_file(index));
  VARVE_ASSIGN(const SegmentWalk walk,
               walk_segment(*segment->file, segment->head, nullptr, WalkOptions{}));
  out.length = segment->file->size();
  if (walk.tail == TailState::unreadable || !walk.gaps.empty() || walk.too_many) {
    return out;
  }
  const HeaderBytes header = active_header();
  out.length = walk.frames_end;
  out.head = std::string(base::as_text(header));
  return out;
}

Result<model::CopyRequest> copy_request_of(io::FileSystem& files, const std::string& path) {
  VARVE_ASSIGN(const auto archive, Archive::open(files, path));
  const io::SplitPath split = io::split_path(path);
  model::CopyRequest copy;
  copy.format = "jss";
  copy.source_path = path;
  copy.single_file = !archive->is_directory();
  copy.source_directory = copy.single_file ? split.parent : path;
  const bool has_name = !split.name.empty() && split.name != "." && split.name != "..";
  copy.store_name = has_name ? split.name : "archive";
  std::uint64_t active = 0;
  for (std::size_t i = 0; i < archive->members().size(); ++i) {
    VARVE_ASSIGN(model::CopyMember member, copy_member_of(*archive, i));
    active += archive->members()[i].head.state == SegmentState::active ? 1 : 0;
    copy.members.push_back(std::move(member));
  }
  copy.detail.set("segments", std::uint64_t{copy.members.size()}).set("active_segments", active);
  return copy;
}

}  // namespace

Result<WriteReport> backup_store(io::FileSystem& files, const std::string& path,
                                 const std::string& target, const WriteRequest& request) {
  for (int attempt = 1;; ++attempt) {
    VARVE_ASSIGN(model::CopyRequest copy, copy_request_of(files, path));
    copy.target = target;
    auto report = model::copy_with_catalogue(files, copy, request);
    const bool changed = !report && report.error().code == ErrorCode::locked;
    if (!changed || attempt == k_most_attempts) {
      return report;
    }
  }
}

}  // namespace varve::jss
