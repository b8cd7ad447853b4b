// SPDX-License-Identifier: MIT OR Apache-2.0
// The segments of an archive that another process writes: looked at again and again, cheaply.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "jss/archive.hpp"
#include "jss/segment_directory.hpp"
#include "serve/stream_cursor.hpp"

namespace varve::serve {

// One segment as a look found it.
struct StreamSegment {
  std::uint64_t number = 0;  // 0 for a store of one file
  std::string name;
  io::FileIdentity identity;
  jss::SegmentState state = jss::SegmentState::active;
  jss::Header header;     // of a sealed one
  bool believed = false;  // sealed, and the metadata checksum of this generation holds
};

// In order of number. Never changes once made.
using StreamSegments = std::shared_ptr<const std::vector<StreamSegment>>;

// A store as the streams see it. Thread-safe; all methods only read.
class StreamArchive {
 public:
  static Result<StreamArchive> open(io::FileSystem& files, const std::string& path);

  // The segments now. What has not changed since `before` (may be null) is taken from there. A
  // last file that is not yet a segment (its header is being written) is left out.
  Result<StreamSegments> look(const StreamSegments& before) const;
  // Changes whenever a segment is created, renamed or removed: whether another look is worth it.
  Result<std::int64_t> changed_ns() const;
  // Opens a segment as it is now, which may be later than the look: a sealed one with its footer.
  // ErrorCode::damaged if its header or footer breaks a rule.
  Result<std::shared_ptr<jss::OpenSegment>> open(const StreamSegment& segment) const;

 private:
  explicit StreamArchive(jss::StorePlace place) : place_(std::move(place)) {}
  Result<std::vector<jss::NumberedSegment>> list() const;
  Result<StreamSegment> read(const jss::NumberedSegment& found) const;
  Result<std::unique_ptr<jss::SegmentFile>> open_file(const std::string& name) const;

  jss::StorePlace place_;
};

// The highest seq that the headers of sealed segments tell, rows left or not; 0 without any.
std::uint64_t last_sealed_seq(const std::vector<StreamSegment>& segments);

// The look-back floor (section 19.2): the first sealed segment with a row that was witnessed at or
// after `oldest_us`, else the last sealed one; nothing without sealed segments.
std::optional<StreamFloor> floor_of(const std::vector<StreamSegment>& segments,
                                    std::int64_t oldest_us);

}  // namespace varve::serve
