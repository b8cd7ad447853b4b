// SPDX-License-Identifier: MIT OR Apache-2.0
// Planning a download from a jss archive: which segments and blocks can hold the rows that a client
// asks for (planSnapshot, spec section 17.4).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "varve/file_system.hpp"
#include "varve/json.hpp"
#include "varve/result.hpp"

namespace varve::jss {

// What a client asks for; an empty list means "all".
struct SnapshotRequest {
  std::vector<std::string> kinds;           // of commit, identity, account, sync
  std::vector<std::string> dids;            // valid DIDs
  std::vector<std::string> collections;     // NSIDs, or an NSID prefix and ".*"
  std::optional<std::uint64_t> after_seq;   // exclusive
  std::optional<std::uint64_t> before_seq;  // inclusive; above after_seq if both are given

  // Reads a request body. No bytes at all count as {}; keys that are not the protocol's are
  // ignored. ErrorCode::invalid_argument, reason "InvalidRequest", for what is no such object.
  static Result<SnapshotRequest> parse(std::string_view body);
};

// What the operator of a server sets.
struct SnapshotLimits {
  std::size_t max_dids = 10'000;        // 0 forbids the filter
  std::size_t max_collections = 100;    // 0 forbids the filter
  std::uint64_t max_entries = 100'000;  // of one page; 0: no limit
  double whole_segment_share = 0.75;    // of a segment's blocks; from there on all of it is named
};

struct SnapshotPlan {
  struct Blocks {
    std::uint32_t first = 0;
    std::uint32_t last = 0;  // inclusive
  };
  struct Segment {
    std::string name;
    std::uint64_t index = 0;     // the number in the name
    std::uint64_t checksum = 0;  // of the header: the generation
    std::uint64_t min_seq = 0;   // the header's bounds
    std::uint64_t max_seq = 0;
    std::vector<Blocks> blocks = {};  // empty: the whole segment
  };
  std::uint64_t planned_through_seq = 0;
  std::uint64_t sealed_tip_seq = 0;
  std::vector<Segment> segments;
  std::uint64_t segments_examined = 0;
  std::uint64_t segments_matched = 0;
  std::uint64_t blocks_matched = 0;
  std::uint64_t entries = 0;

  // The answer as the protocol spells it.
  Json to_json() const;
};

// The sealed segments of an archive, as a planner sees them: headers are read at once, footers when
// a request first needs them, blooms of blocks one by one. One call at a time.
class SnapshotPlanner {
 public:
  // `path`: a directory of segments, or one segment file.
  static Result<SnapshotPlanner> open(io::FileSystem& files, const std::string& path);
  SnapshotPlanner(SnapshotPlanner&&) noexcept;
  SnapshotPlanner& operator=(SnapshotPlanner&&) noexcept;
  ~SnapshotPlanner();

  // Looks at the archive anew, for segments that were sealed or rewritten since; what is known of
  // the others stays. Errors: as open(); the planner then is as it was.
  Result<void> refresh();

  // One page of the plan. It may name too much, never too little. Errors: invalid_argument,
  // "InvalidRequest", for a request that breaks a rule; damaged for a segment that opening refuses,
  // and where the segments do not ascend in seq, since neither could be planned around.
  Result<SnapshotPlan> plan(const SnapshotRequest& request, const SnapshotLimits& limits = {});

 private:
  struct Impl;
  explicit SnapshotPlanner(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace varve::jss
