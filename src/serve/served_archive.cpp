// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/served_archive.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "jss/names.hpp"
#include "jss/segment_directory.hpp"
#include "jss/snapshot_plan.hpp"

namespace varve::serve {

namespace {

// A change of a directory within this time of being listed may have left its time as it was.
constexpr std::int64_t k_settling_ns = 100'000'000;

bool same_file(const io::FileIdentity& a, const io::FileIdentity& b) {
  return a.same_object(b) && a.size_bytes == b.size_bytes && a.modified_ns == b.modified_ns &&
         a.changed_ns == b.changed_ns;
}

Result<jss::SegmentHead> head_of(const io::File& file, const io::FileIdentity& identity,
                                 const std::string& name) {
  std::array<std::byte, jss::k_header_bytes> first{};
  VARVE_ASSIGN(const std::size_t got, file.read_at(first, 0));
  return jss::parse_head({first.data(), got}, identity.size_bytes, name);
}

std::unexpected<Error> not_sealed(const std::string& name) {
  return fail(ErrorCode::not_a_store, "SegmentNotFound", "there is no sealed segment " + name,
              name);
}

}  // namespace

std::string generation_text(const jss::Header& header) {
  return jss::checksum_text(header.checksum);
}

ServedArchive::ServedArchive(io::FileSystem& files, std::string path)
    : files_(files), path_(std::move(path)), loader_([this] {
        // What goes wrong is told to the first request that asks.
        static_cast<void>(list());
        loading_.store(false, std::memory_order_release);
      }) {}

Result<void> ServedArchive::open_directory() {
  if (directory_ == nullptr) {
    VARVE_ASSIGN(auto place, jss::open_place(files_, path_));
    directory_ = std::move(place.directory);
  }
  return {};
}

Result<ListedSegment> ServedArchive::look_at(const std::string& name, std::uint64_t number) const {
  ListedSegment out;
  out.name = name;
  out.number = number;
  VARVE_ASSIGN(const auto file, directory_->open_file(name, io::OpenMode::read));
  VARVE_ASSIGN(out.identity, file->identity());
  VARVE_ASSIGN(const jss::SegmentHead head, head_of(*file, out.identity, name));
  out.state = head.state;
  out.header = head.header;
  out.fault = head.fault ? head.fault->message : std::string();
  return out;
}

// Whether the list still is what a new look would give: renames change the directory, and a seal,
// which is done in place, changes a file that was not sealed.
Result<bool> ServedArchive::still_true() {
  VARVE_ASSIGN(const auto identity, directory_->identity());
  if (list_ == nullptr || !settled_ || !same_file(identity, listed_identity_)) {
    return false;
  }
  for (const ListedSegment& segment : *list_) {
    if (segment.state != jss::SegmentState::sealed) {
      const auto now = directory_->identity_of(segment.name);
      if (!now || !same_file(*now, segment.identity)) {
        return false;
      }
    }
  }
  return true;
}

Result<void> ServedArchive::relist() {
  VARVE_ASSIGN(listed_identity_, directory_->identity());
  settled_ = io::system_environment().now_ns() - listed_identity_.changed_ns > k_settling_ns;
  VARVE_ASSIGN(const auto found, jss::list_segments(*directory_));
  auto fresh = std::make_shared<SegmentList>();
  bool changed = list_ == nullptr || list_->size() != found.size();
  std::size_t before = 0;  // both ascend
  for (const jss::NumberedSegment& segment : found) {
    while (list_ && before < list_->size() && (*list_)[before].number < segment.number) {
      ++before;
    }
    const ListedSegment* known =
        list_ && before < list_->size() && (*list_)[before].number == segment.number
            ? &(*list_)[before]
            : nullptr;
    if (known != nullptr && same_file(known->identity, segment.identity)) {
      fresh->push_back(*known);
      continue;
    }
    changed = true;
    auto looked = look_at(segment.name, segment.number);
    if (looked) {
      fresh->push_back(*std::move(looked));
    } else if (looked.error().system_errno != ENOENT) {  // gone meanwhile: not there
      return std::unexpected(std::move(looked).error());
    }
  }
  if (changed) {
    list_ = std::move(fresh);
  }
  return {};
}

Result<std::shared_ptr<const SegmentList>> ServedArchive::list() {
  const std::lock_guard lock(mutex_);
  VARVE_TRY(open_directory());
  VARVE_ASSIGN(const bool current, still_true());
  if (!current) {
    VARVE_TRY(relist());
  }
  return list_;
}

Result<ServedSegment> ServedArchive::open(const std::string& name) {
  std::shared_ptr<io::Directory> directory;
  {
    const std::lock_guard lock(mutex_);
    VARVE_TRY(open_directory());
    directory = directory_;
  }
  auto file = directory->open_file(name, io::OpenMode::read);
  if (!file) {
    const Error& error = file.error();
    const bool absent = error.system_errno == ENOENT || error.code == ErrorCode::invalid_argument;
    return absent ? Result<ServedSegment>(not_sealed(name)) : std::unexpected(error);
  }
  ServedSegment out{.file = *std::move(file), .identity = {}, .header = {}};
  VARVE_ASSIGN(out.identity, out.file->identity());
  VARVE_ASSIGN(const jss::SegmentHead head, head_of(*out.file, out.identity, name));
  if (head.state == jss::SegmentState::active) {
    return not_sealed(name);
  }
  if (head.state == jss::SegmentState::refused) {
    return fail(ErrorCode::damaged, head.fault->code, head.fault->message, name);
  }
  out.header = head.header;
  return out;
}

Result<jss::SnapshotPlan> ServedArchive::plan(const jss::SnapshotRequest& request,
                                              const jss::SnapshotLimits& limits) {
  VARVE_ASSIGN(const auto now, list());
  if (std::ranges::none_of(*now,
                           [](const auto& s) { return s.state != jss::SegmentState::active; })) {
    return jss::SnapshotPlan{};  // an archive that has sealed nothing yet
  }
  std::unique_ptr<Planner> planner;
  {
    const std::lock_guard lock(planners_mutex_);
    if (!planners_.empty()) {
      planner = std::move(planners_.back());
      planners_.pop_back();
    }
  }
  if (planner == nullptr) {
    VARVE_ASSIGN(auto opened, jss::SnapshotPlanner::open(files_, path_));
    planner = std::make_unique<Planner>(now, std::move(opened));
  } else if (planner->list != now) {
    VARVE_TRY(planner->planner.refresh());
    planner->list = now;
  }
  auto plan = planner->planner.plan(request, limits);
  const std::lock_guard lock(planners_mutex_);
  planners_.push_back(std::move(planner));
  return plan;
}

}  // namespace varve::serve
