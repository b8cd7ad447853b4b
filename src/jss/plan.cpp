// SPDX-License-Identifier: MIT OR Apache-2.0
// `cat --plan`: what a scan would read of each segment, and why it leaves out the rest.
#include <string>
#include <utility>

#include "jss/scan_plan.hpp"
#include "jss/view.hpp"

namespace varve::jss {

namespace {

// Runs of consecutive ordinals as [{"first":a,"last":b}].
Json runs_json(const std::vector<std::uint32_t>& blocks) {
  Json out = Json::array();
  for (std::size_t i = 0; i < blocks.size();) {
    std::size_t end = i + 1;
    while (end < blocks.size() && blocks[end] == blocks[end - 1] + 1) {
      ++end;
    }
    Json run = Json::object();
    run.set("first", blocks[i]);
    run.set("last", blocks[end - 1]);
    out.push(std::move(run));
    i = end;
  }
  return out;
}

Json skipped_json(const BlockSelection& s) {
  Json out = Json::object();
  out.set("empty", s.skipped_empty);
  out.set("seq", s.skipped_by_seq);
  out.set("time", s.skipped_by_time);
  out.set("collections", s.skipped_by_names);
  out.set("bloom", s.skipped_by_bloom);
  return out;
}

const char* how_text(const MemberPlan& plan) {
  if (unreadable(plan.segment->head)) {
    return "not read: a version that this build does not know";
  }
  if (plan.segment->trusted()) {
    return "by the block index";
  }
  return plan.segment->head.state == SegmentState::active
             ? "all frames: an active segment has no index"
             : "all frames: the footer does not hold";
}

Json member_plan_json(const Member& member, const MemberPlan& plan, std::uint64_t& bytes_in_all) {
  Json out = Json::object();
  out.set("segment", member.label);
  if (plan.skip != SkipReason::none) {
    out.set("read", false);
    out.set("why", plan.skip == SkipReason::bloom
                       ? std::string("the segment's bloom denies every DID")
                       : "the header excludes it: " + std::string(to_text(plan.skip)));
    return out;
  }
  std::uint64_t bytes = 0;
  for (const std::uint32_t frame : plan.frames) {
    bytes += plan.walk.frames[frame].end() - plan.walk.frames[frame].offset;
  }
  bytes_in_all += bytes;
  out.set("read", !plan.frames.empty());
  out.set("why", std::string(how_text(plan)));
  out.set("blocks", std::uint64_t{plan.walk.frames.size()});
  out.set("blocks_to_read", std::uint64_t{plan.frames.size()});
  out.set("bytes_to_read", bytes);
  if (plan.segment->trusted()) {
    out.set("skipped", skipped_json(plan.selection));
  }
  out.set("ranges", runs_json(plan.frames));
  return out;
}

}  // namespace

Result<Json> View::plan(const ScanRequest& request) {
  VARVE_ASSIGN(const RowQuery query, RowQuery::compile(request.predicate));
  PlanOptions options;
  options.strict = request.strict;
  options.walk.max_memory_bytes = request.max_memory_bytes;
  Json segments = Json::array();
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  std::uint64_t read = 0;
  for (std::size_t i = 0; i < archive_->members().size(); ++i) {
    VARVE_ASSIGN(const MemberPlan plan, plan_member(*archive_, i, query, options));
    segments.push(member_plan_json(archive_->members()[i], plan, bytes));
    blocks += plan.frames.size();
    read += plan.frames.empty() ? 0 : 1;
  }
  Json out = Json::object();
  out.set("schema", "varve.plan/1");
  out.set("format", "jss");
  out.set("path", archive_->path());
  out.set("segments_in_all", std::uint64_t{archive_->members().size()});
  out.set("segments_to_read", read);
  out.set("blocks_to_read", blocks);
  out.set("bytes_to_read", bytes);
  out.set("segments", std::move(segments));
  return out;
}

}  // namespace varve::jss
