// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/snapshot_plan.hpp"

#include <algorithm>
#include <utility>

#include "base/bytes.hpp"
#include "jss/select.hpp"
#include "jss/view.hpp"

namespace varve::jss {

namespace {

constexpr std::size_t k_max_kinds = 4;
constexpr std::uint64_t k_max_footer_memory_bytes = std::uint64_t{1} << 30;
constexpr std::uint64_t k_shelf_bytes = std::uint64_t{256} << 20;

Result<void> check_count(std::string_view what, std::size_t count, std::size_t most) {
  if (count > most) {
    return invalid_request("at most " + std::to_string(most) + " " + std::string(what) + ", not " +
                           std::to_string(count));
  }
  return {};
}

// The rules of a request, and the query behind it.
Result<RowQuery> query_of(const SnapshotRequest& request, const SnapshotLimits& limits) {
  VARVE_TRY(check_count("kinds", request.kinds.size(), k_max_kinds));
  VARVE_TRY(check_count("dids", request.dids.size(), limits.max_dids));
  VARVE_TRY(check_count("collections", request.collections.size(), limits.max_collections));
  for (const std::string& kind : request.kinds) {
    if (!kinds_of_public_name(kind)) {
      return invalid_request("no public kind is named \"" + kind + "\"");
    }
  }
  if (!request.collections.empty() && !request.kinds.empty() &&
      std::ranges::find(request.kinds, "commit") == request.kinds.end()) {
    return invalid_request("collections are of commits, which kinds leaves out");
  }
  if (request.after_seq && request.before_seq && *request.before_seq <= *request.after_seq) {
    return invalid_request("beforeSeq " + std::to_string(*request.before_seq) +
                           " is not above afterSeq " + std::to_string(*request.after_seq));
  }
  RowQuery query;
  auto filter = RowFilter::compile(request.kinds, request.dids, request.collections);
  if (!filter) {
    return invalid_request(filter.error().message);
  }
  query.filter = *std::move(filter);
  if (request.after_seq) {
    query.seq_first = *request.after_seq + (~*request.after_seq != 0 ? 1 : 0);
  }
  query.seq_last = request.before_seq;
  return query;
}

std::unexpected<Error> damaged(const Member& member, std::string reason, std::string message) {
  Error error;
  error.code = ErrorCode::damaged;
  error.path = member.name;
  error.reason = std::move(reason);
  error.message = std::move(message);
  return std::unexpected(std::move(error));
}

// The sealed members. What a planner cannot plan around is an error: a header that is refused, and
// segments that do not ascend, since continuing a plan skips by max_seq.
Result<std::vector<std::size_t>> sealed_members(const Archive& archive) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < archive.members().size(); ++i) {
    const Member& member = archive.members()[i];
    if (member.head.fault) {
      return damaged(member, member.head.fault->code, member.head.fault->message);
    }
    if (member.head.state == SegmentState::sealed) {
      out.push_back(i);
    }
  }
  if (auto overlap = archive.overlap()) {
    return std::unexpected(*std::move(overlap));
  }
  return out;
}

std::vector<SnapshotPlan::Blocks> runs_of(const std::vector<std::uint32_t>& blocks) {
  std::vector<SnapshotPlan::Blocks> out;
  for (const std::uint32_t block : blocks) {
    if (!out.empty() && out.back().last + 1 == block) {
      out.back().last = block;
    } else {
      out.push_back({block, block});
    }
  }
  return out;
}

// Fills one page.
class Page {
 public:
  Page(SnapshotPlan& plan, const SnapshotLimits& limits) : plan_(plan), limits_(limits) {}

  // Adds what was selected of a segment. False if the page is full before its end.
  bool add(const Member& member, const OpenSegment& segment,
           const std::vector<std::uint32_t>& blocks) {
    const Header& header = segment.head.header;
    SnapshotPlan::Segment out{.name = member.label,
                              .index = member.number.value_or(0),
                              .checksum = header.checksum,
                              .min_seq = header.min_seq,
                              .max_seq = header.max_seq};
    const double share = static_cast<double>(blocks.size()) / header.block_count;
    if (share >= limits_.whole_segment_share) {
      if (full()) {
        return false;
      }
      ++plan_.segments_matched;
      admit(blocks.size(), header.max_seq);
      plan_.segments.push_back(std::move(out));
      return true;
    }
    bool all = true;
    for (const SnapshotPlan::Blocks& run : runs_of(blocks)) {
      if (full()) {
        all = false;
        break;
      }
      admit(run.last - run.first + 1, segment.entry(run.last).max_seq);
      out.blocks.push_back(run);
    }
    if (!out.blocks.empty()) {
      ++plan_.segments_matched;
      plan_.segments.push_back(std::move(out));
    }
    return all;
  }

  // The seq of the last row that this page accounts for, if it had to end early.
  std::uint64_t last_seq() const { return last_seq_; }

 private:
  bool full() const { return limits_.max_entries != 0 && plan_.entries >= limits_.max_entries; }
  void admit(std::uint64_t blocks, std::uint64_t last_seq) {
    ++plan_.entries;
    plan_.blocks_matched += blocks;
    last_seq_ = last_seq;
  }

  SnapshotPlan& plan_;
  const SnapshotLimits& limits_;
  std::uint64_t last_seq_ = 0;
};

std::uint64_t bytes_of(const Footer& footer) {
  return footer.did_bloom_blob.size() + footer.index->size() * sizeof(IndexEntry) +
         footer.collections->body().size() +
         footer.collections->entries().size() * sizeof(CollectionIndex::Entry);
}

}  // namespace

std::string checksum_text(std::uint64_t checksum) {
  std::string out;
  for (int shift = 60; shift >= 0; shift -= 4) {
    out += "0123456789abcdef"[(checksum >> shift) & 15];
  }
  return out;
}

Result<std::shared_ptr<OpenSegment>> FooterShelf::open(Archive& archive, std::size_t index) {
  kept_.resize(archive.members().size());
  Kept& kept = kept_[index];
  if (kept.footer) {
    VARVE_ASSIGN(auto segment, archive.open_file(index));
    // hash_holds falls when the file has been replaced.
    if (archive.members()[index].hash_holds && segment->head.header.checksum == kept.checksum) {
      segment->footer = kept.footer;
      return segment;
    }
    bytes_left_ += bytes_of(*kept.footer);
    kept = Kept{};
  }
  VARVE_ASSIGN(auto segment, archive.open_segment(index, k_max_footer_memory_bytes, true));
  if (!segment->trusted()) {
    const Member& member = archive.members()[index];
    return segment->findings.empty()
               ? damaged(member, k_corrupt_segment, "the segment is no longer sealed")
               : damaged(member, segment->findings.front().code, segment->findings.front().message);
  }
  if (const std::uint64_t bytes = bytes_of(*segment->footer); bytes <= bytes_left_) {
    bytes_left_ -= bytes;
    kept = {segment->head.header.checksum, segment->footer};
  }
  return segment;
}

void FooterShelf::move_to(Archive& fresh, const Archive& old) {
  kept_.resize(old.members().size());
  std::vector<Kept> moved;
  for (const auto& before : fresh.take_over(old)) {
    moved.push_back(before ? std::exchange(kept_[*before], Kept{}) : Kept{});
  }
  for (const Kept& dropped : kept_) {
    bytes_left_ += dropped.footer ? bytes_of(*dropped.footer) : 0;
  }
  kept_ = std::move(moved);
}

Result<SnapshotPlan> plan_snapshot(Archive& archive, FooterShelf& shelf,
                                   const SnapshotRequest& request, const SnapshotLimits& limits) {
  VARVE_ASSIGN(const RowQuery query, query_of(request, limits));
  VARVE_ASSIGN(const auto sealed, sealed_members(archive));
  SnapshotPlan plan;
  for (const std::size_t i : sealed) {
    plan.sealed_tip_seq = std::max(plan.sealed_tip_seq, archive.members()[i].head.header.max_seq);
  }
  plan.sealed_tip_seq =
      std::min(plan.sealed_tip_seq, request.before_seq.value_or(plan.sealed_tip_seq));
  plan.planned_through_seq = plan.sealed_tip_seq;
  Page page(plan, limits);
  for (const std::size_t i : sealed) {
    ++plan.segments_examined;
    const Member& member = archive.members()[i];
    if (skip_by_header(member.head.header, query) != SkipReason::none) {
      // A header excludes only once its checksum holds; a replaced file is looked at as it is now.
      VARVE_ASSIGN(const bool believed, archive.hash_holds(i));
      if (believed && skip_by_header(member.head.header, query) != SkipReason::none) {
        continue;
      }
    }
    VARVE_ASSIGN(const auto segment, shelf.open(archive, i));
    VARVE_ASSIGN(const BlockSelection selection, select_blocks(*segment, query));
    if (!selection.blocks.empty() && !page.add(member, *segment, selection.blocks)) {
      plan.planned_through_seq = page.last_seq();
      break;
    }
  }
  return plan;
}

struct SnapshotPlanner::Impl {
  std::unique_ptr<Archive> archive;
  FooterShelf shelf{k_shelf_bytes};
};

SnapshotPlanner::SnapshotPlanner(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SnapshotPlanner::SnapshotPlanner(SnapshotPlanner&&) noexcept = default;
SnapshotPlanner& SnapshotPlanner::operator=(SnapshotPlanner&&) noexcept = default;
SnapshotPlanner::~SnapshotPlanner() = default;

Result<SnapshotPlanner> SnapshotPlanner::open(io::FileSystem& files, const std::string& path) {
  auto impl = std::make_unique<Impl>();
  VARVE_ASSIGN(impl->archive, Archive::open(files, path));
  return SnapshotPlanner(std::move(impl));
}

Result<void> SnapshotPlanner::refresh() {
  VARVE_ASSIGN(auto fresh, Archive::open(impl_->archive->files(), impl_->archive->path()));
  impl_->shelf.move_to(*fresh, *impl_->archive);
  impl_->archive = std::move(fresh);
  return {};
}

Result<SnapshotPlan> SnapshotPlanner::plan(const SnapshotRequest& request,
                                           const SnapshotLimits& limits) {
  return plan_snapshot(*impl_->archive, impl_->shelf, request, limits);
}

}  // namespace varve::jss
