// SPDX-License-Identifier: MIT OR Apache-2.0
// `backup`: the cold copy of section 17, or a copy beside a running owner.
#include <algorithm>
#include <utility>

#include "model/copy_catalogue.hpp"
#include "tay/examine.hpp"
#include "tay/ownership.hpp"
#include "tay/refusal.hpp"
#include "tay/snapshot.hpp"
#include "tay/writing.hpp"

namespace varve::tay {

namespace {

// Deeper than any directory of a store, v2 included.
constexpr int k_most_levels = 6;
constexpr std::uint64_t k_entry_limit = 100'000;

// STORE comes last, and before it what says which epoch is the truth.
int rank(const model::CopyMember& member) {
  return member.path == k_store_name ? 2 : member.path == k_current_name ? 1 : 0;
}

// Every regular file below; what is neither file nor directory is counted, not copied.
Result<void> add_tree(const io::Directory& directory, const std::string& prefix, int levels,
                      model::CopyRequest& out, std::uint64_t& left_out) {
  VARVE_ASSIGN(auto entries, directory.list());
  std::ranges::sort(entries, {}, &io::DirectoryEntry::name);
  for (const io::DirectoryEntry& entry : entries) {
    const std::string path = prefix + entry.name;
    if (entry.identity.type == io::FileType::directory && levels > 1) {
      out.directories.push_back(path);
      VARVE_ASSIGN(const auto below, directory.open_directory(entry.name));
      VARVE_TRY(add_tree(*below, path + "/", levels - 1, out, left_out));
    } else if (entry.identity.type == io::FileType::regular) {
      out.members.push_back({path, entry.identity.size_bytes, std::nullopt, entry.identity});
    } else {
      ++left_out;
    }
  }
  return {};
}

Result<void> add_everything(io::FileSystem& files, const std::string& path,
                            model::CopyRequest& out) {
  VARVE_ASSIGN(const auto root, files.open_directory(path));
  std::uint64_t left_out = 0;
  VARVE_TRY(add_tree(*root, "", k_most_levels, out, left_out));
  std::ranges::stable_sort(out.members, {}, rank);
  if (left_out != 0) {
    out.detail.set("not_copied", left_out);
  }
  return {};
}

// While its owner goes on writing: the units that are whole now.
Result<void> add_what_is_whole(io::FileSystem& files, const std::string& path, unsigned threads,
                               model::CopyRequest& out) {
  VARVE_ASSIGN(Snapshot snapshot, take_snapshot(files, path, k_entry_limit));
  if (snapshot.version != 1 || !snapshot.store_id || !snapshot.problems.empty()) {
    return fail(ErrorCode::locked, "store_busy",
                "another process owns the store, and it is not one that can be copied meanwhile",
                path);
  }
  LogPassOptions options = reading_options(snapshot, {}, threads);
  options.writer_present = true;
  VARVE_ASSIGN(const LogPassResult pass,
               run_log_pass(*snapshot.segments_directory, snapshot.segments, options));
  for (const Refusal& refusal : pass.refusals) {
    if (refusal.kind != RefusalKind::incomplete_tail) {
      return std::unexpected(to_error(refusal));
    }
  }
  out.directories.push_back(std::string(k_segments_name));
  if (snapshot.listing.lock) {
    out.members.push_back({std::string(k_lock_name), 0, std::nullopt, *snapshot.listing.lock});
  }
  for (const Segment& segment : snapshot.segments) {
    out.members.push_back(
        {snapshot.segments_prefix + segment.name, segment.end, std::nullopt, segment.identity});
  }
  out.members.push_back(
      {std::string(k_store_name), k_store_bytes, std::nullopt, *snapshot.listing.store});
  out.detail.set("records", pass.totals.intact);
  return {};
}

std::string store_name(const std::string& path) {
  const std::string name = io::split_path(path).name;
  return name.empty() || name == "." || name == ".." || name == "/" ? "store" : name;
}

}  // namespace

Result<WriteReport> backup_store(io::FileSystem& files, const std::string& path,
                                 const std::string& target, const WriteRequest& request) {
  model::CopyRequest copy;
  copy.format = "tay";
  copy.source_path = path;
  copy.source_directory = path;
  copy.store_name = store_name(path);
  copy.target = target;
  // Held to the end of the copy. Without a lock file nobody can own the store.
  const auto owner = Ownership::take(files, path);
  const bool busy = !owner && owner.error().kind == RefusalKind::ownership_busy;
  copy.detail.set("lock", owner ? "held" : busy ? "busy" : std::string_view(owner.error().word));
  if (busy) {
    VARVE_TRY(add_what_is_whole(files, path, request.threads, copy));
  } else {
    VARVE_TRY(add_everything(files, path, copy));
  }
  return model::copy_with_catalogue(files, copy, request);
}

}  // namespace varve::tay
