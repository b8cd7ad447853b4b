// SPDX-License-Identifier: MIT OR Apache-2.0
// The sealed segments of an archive that other processes append to, seal and compact: a list that
// is refreshed when the directory changed, files opened anew for each answer, plans.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "jss/segment_file.hpp"
#include "serve/byte_answer.hpp"
#include "varve/file_system.hpp"
#include "varve/jss_plan.hpp"

namespace varve::serve {

struct ListedSegment {
  std::string name;
  std::uint64_t number = 0;
  io::FileIdentity identity;
  jss::SegmentState state = jss::SegmentState::refused;
  jss::Header header;
  std::string fault;  // of a refused one
};
using SegmentList = std::vector<ListedSegment>;  // by number

// A segment as one answer sees it: one open file.
struct ServedSegment {
  std::shared_ptr<io::File> file;
  io::FileIdentity identity;
  jss::Header header;
};

// Thread-safe.
class ServedArchive {
 public:
  // `path`: a directory of segments, or a data directory with one. Begins to load the list at once,
  // on a thread of its own; until that is done loading() is true.
  ServedArchive(io::FileSystem& files, std::string path);
  ServedArchive(const ServedArchive&) = delete;
  ServedArchive& operator=(const ServedArchive&) = delete;
  ~ServedArchive() = default;

  bool loading() const { return loading_.load(std::memory_order_acquire); }

  // All segments as they are now. Costs a look at the directory and at what is not sealed, unless
  // something changed. Errors: of reading.
  Result<std::shared_ptr<const SegmentList>> list();
  // Opens a sealed segment by its valid name. Error not_a_store where there is none that is sealed;
  // damaged where its header is refused.
  Result<ServedSegment> open(const std::string& name);
  // One plan, over the archive as it is now. Errors: as SnapshotPlanner::plan.
  Result<jss::SnapshotPlan> plan(const jss::SnapshotRequest& request,
                                 const jss::SnapshotLimits& limits);

 private:
  // A planner and the list that it was opened at.
  struct Planner {
    std::shared_ptr<const SegmentList> list;
    jss::SnapshotPlanner planner;
  };

  // The rest is called with the mutex held.
  Result<void> open_directory();
  Result<bool> still_true();
  Result<void> relist();
  Result<ListedSegment> look_at(const std::string& name, std::uint64_t number) const;

  io::FileSystem& files_;
  std::string path_;
  std::mutex mutex_;
  std::shared_ptr<io::Directory> directory_;
  std::shared_ptr<const SegmentList> list_;
  io::FileIdentity listed_identity_;  // of the directory, before it was listed
  bool settled_ = false;              // the directory had not just changed when it was listed
  std::mutex planners_mutex_;
  std::vector<std::unique_ptr<Planner>> planners_;  // idle ones
  std::atomic<bool> loading_ = true;
  std::jthread loader_;  // last: it uses the others
};

// The 16 digits of a generation.
std::string generation_text(const jss::Header& header);

}  // namespace varve::serve
