// SPDX-License-Identifier: MIT OR Apache-2.0
// What a scan of a remote archive fetches, in order: from the server's plan, page by page, or from
// the list of segments.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "serve/remote_archive.hpp"

namespace varve::serve {

// A whole segment (no blocks), or runs of its blocks.
struct RemoteEntry {
  std::string segment;
  std::vector<jss::SnapshotPlan::Blocks> blocks;
};

class RemoteEntries {
 public:
  virtual ~RemoteEntries() = default;
  // nullopt at the end.
  virtual Result<std::optional<RemoteEntry>> next() = 0;
};

// The list as it stands, or backwards.
class ListedEntries final : public RemoteEntries {
 public:
  ListedEntries(const std::vector<std::string>& segments, bool reverse)
      : segments_(segments), reverse_(reverse) {}
  Result<std::optional<RemoteEntry>> next() override;

 private:
  const std::vector<std::string>& segments_;
  bool reverse_;
  std::size_t done_ = 0;
};

// The loop of section 17.5 over pages of planSnapshot. The tip is pinned by the first page.
class PlannedEntries final : public RemoteEntries {
 public:
  PlannedEntries(RemoteArchive& archive, jss::SnapshotRequest request)
      : archive_(archive), request_(std::move(request)) {}
  Result<std::optional<RemoteEntry>> next() override;

 private:
  Result<void> next_page();

  RemoteArchive& archive_;
  jss::SnapshotRequest request_;
  std::optional<std::uint64_t> tip_;
  std::uint64_t cursor_ = 0;
  jss::SnapshotPlan page_;
  std::size_t position_ = 0;
};

}  // namespace varve::serve
