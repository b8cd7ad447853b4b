// SPDX-License-Identifier: MIT OR Apache-2.0
// The planner of section 17.4 over an archive that is already open.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "jss/archive.hpp"
#include "varve/jss_plan.hpp"
#include "varve/scan.hpp"

namespace varve::jss {

// An error of reason "InvalidRequest".
std::unexpected<Error> invalid_request(std::string message);

// A request body, and what a predicate asks for on top of it.
Result<SnapshotRequest> snapshot_request_of(const Predicate& predicate, std::string_view body);

// A checksum as the protocol spells it: 16 lower-case hex digits.
std::string checksum_text(std::uint64_t checksum);

// Footers of an archive, kept between requests up to a number of bytes.
class FooterShelf {
 public:
  explicit FooterShelf(std::uint64_t max_bytes) : bytes_left_(max_bytes) {}
  // The member opened in full; its footer comes from the shelf if it is there and the file is still
  // the same. A segment that opening refuses is an error.
  Result<std::shared_ptr<OpenSegment>> open(Archive& archive, std::size_t member);
  // The archive was opened anew as `fresh`: keeps what is of the same files.
  void move_to(Archive& fresh, const Archive& old);

 private:
  struct Kept {
    std::uint64_t checksum = 0;  // of the generation
    std::shared_ptr<const Footer> footer;
  };
  std::uint64_t bytes_left_;
  std::vector<Kept> kept_;  // by member
};

// One page. The shelf belongs to the archive.
Result<SnapshotPlan> plan_snapshot(Archive& archive, FooterShelf& shelf,
                                   const SnapshotRequest& request, const SnapshotLimits& limits);

}  // namespace varve::jss
