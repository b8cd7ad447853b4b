// SPDX-License-Identifier: MIT OR Apache-2.0
// `backup`: every file under the store's lock, or beside a running writer the live generation up to
// the end that its log has now (section 14).
#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "arena/recovery.hpp"
#include "arena/store_lock.hpp"
#include "arena/store_map.hpp"
#include "arena/writing.hpp"
#include "model/copy_catalogue.hpp"

namespace varve::arena {

namespace {

// How often a copy is begun again because a compaction replaced the log meanwhile.
constexpr int k_most_attempts = 5;
// Store, arena, generation, and lost+found.
constexpr int k_most_levels = 4;

// Rebuilt from the journal, and of use only with the very log they were made for (section 12).
constexpr std::array<std::string_view, 4> k_cache_prefixes = {"documents.text", "indices.json",
                                                              "nsg_index", "ivf_index"};
bool is_cache(std::string_view name) {
  return std::ranges::any_of(k_cache_prefixes,
                             [&](auto prefix) { return name.starts_with(prefix); });
}

// Not part of the data: the lock, and what a writer has not given its name yet.
bool is_data(const io::DirectoryEntry& entry) {
  return entry.name != k_lock_name && !entry.name.starts_with('.');
}

Result<void> refuse_link(const io::Directory& directory, const io::DirectoryEntry& entry) {
  if (entry.identity.type == io::FileType::symlink) {
    return fail(ErrorCode::unsupported, "symbolic-link",
                "a store with symbolic links is not copied: what they lead to is not part of it",
                directory.path() + "/" + entry.name);
  }
  return {};
}

model::CopyMember whole_file(std::string path, const io::DirectoryEntry& entry) {
  return {std::move(path), entry.identity.size_bytes, std::nullopt, entry.identity};
}

Result<std::vector<io::DirectoryEntry>> sorted_entries(const io::Directory& directory) {
  VARVE_ASSIGN(auto entries, directory.list());
  std::ranges::sort(entries, {}, &io::DirectoryEntry::name);
  return entries;
}

Result<void> add_tree(const io::Directory& directory, const std::string& prefix, int levels,
                      model::CopyRequest& out) {
  VARVE_ASSIGN(const auto entries, sorted_entries(directory));
  for (const io::DirectoryEntry& entry : entries) {
    if (!is_data(entry)) {
      continue;
    }
    VARVE_TRY(refuse_link(directory, entry));
    const std::string path = prefix + entry.name;
    if (entry.identity.type == io::FileType::directory && levels > 1) {
      out.directories.push_back(path);
      VARVE_ASSIGN(const auto below, directory.open_directory(entry.name));
      VARVE_TRY(add_tree(*below, path + "/", levels - 1, out));
    } else if (entry.identity.type == io::FileType::regular) {
      out.members.push_back(whole_file(path, entry));
    }
  }
  return {};
}

// The plain files of one directory that a writer replaces as a whole, if ever.
Result<void> add_settled_files(const io::Directory& directory, const std::string& prefix,
                               model::CopyRequest& out) {
  VARVE_ASSIGN(const auto entries, sorted_entries(directory));
  for (const io::DirectoryEntry& entry : entries) {
    if (!is_data(entry) || is_cache(entry.name) || entry.name == k_pointer_name ||
        segment_number(entry.name)) {
      continue;
    }
    VARVE_TRY(refuse_link(directory, entry));
    if (entry.identity.type == io::FileType::regular) {
      out.members.push_back(whole_file(prefix + entry.name, entry));
    }
  }
  return {};
}

// How much of the final segment is copied: all frames before the end that the log has now. What is
// behind it may be changing. A log that is refused is copied as it is.
Result<std::uint64_t> final_length(const StoreMap& map, unsigned threads) {
  const std::size_t last = map.segments.size() - 1;
  VARVE_ASSIGN(const auto image, map.open_segment(last));
  WalkOptions walk;
  walk.threads = threads;
  auto tail = examine_tail(*image, walk);
  if (tail) {
    return std::min(tail->end, map.segments[last].file_bytes);
  }
  if (tail.error().code == ErrorCode::damaged || tail.error().code == ErrorCode::limit) {
    return map.segments[last].file_bytes;
  }
  return std::unexpected(std::move(tail).error());
}

Result<void> add_live_log(const StoreMap& map, unsigned threads, model::CopyRequest& out) {
  if (!map.live) {
    return std::unexpected(*map.refusal);
  }
  VARVE_TRY(add_settled_files(*map.store, "", out));
  std::string prefix;
  if (!map.store_is_arena) {
    out.directories.emplace_back(k_arena_directory);
    prefix = std::string(k_arena_directory) + "/";
    VARVE_TRY(add_settled_files(*map.arena, prefix, out));
  }
  const std::string arena_prefix = prefix;
  if (!map.live_sub.empty()) {
    out.directories.push_back(prefix + map.live_sub);
    prefix += map.live_sub + "/";
    VARVE_TRY(add_settled_files(*map.live, prefix, out));
  }
  for (std::size_t i = 0; i < map.segments.size(); ++i) {
    const SegmentFile& segment = map.segments[i];
    model::CopyMember member;
    member.path = prefix + segment.name;
    member.length = segment.file_bytes;
    if (map.is_final(i)) {
      VARVE_ASSIGN(member.length, final_length(map, threads));
    }
    VARVE_ASSIGN(member.identity, map.live->identity_of(segment.name));
    out.members.push_back(std::move(member));
  }
  if (map.pointer_present) {
    out.members.push_back(
        {arena_prefix + std::string(k_pointer_name), 0, map.live_sub, std::nullopt});
  }
  return {};
}

// The name of the directory that holds the store.
std::string store_name(const std::string& directory) {
  const std::string name = io::split_path(directory).name;
  return name.empty() || name == "." || name == ".." || name == "/" ? "store" : name;
}

Result<WriteReport> copy_once(io::FileSystem& files, const std::string& path,
                              const std::string& target, const WriteRequest& request) {
  VARVE_ASSIGN(const StoreMap map, map_store(files, path));
  model::CopyRequest copy;
  copy.format = "arena";
  copy.source_path = path;
  copy.source_directory = map.store->path();
  copy.store_name = store_name(copy.source_directory);
  copy.target = target;
  // Held to the end of the copy.
  auto lock = StoreLock::take_quietly(*map.store);
  if (!lock && lock.error().code != ErrorCode::locked) {
    return std::unexpected(std::move(lock).error());
  }
  const bool held = lock && lock->held();
  copy.detail.set("lock", held   ? "held"
                          : lock ? "missing"
                                 : "busy")
      .set("caches", held ? "copied" : "left out");
  if (held) {
    VARVE_TRY(add_tree(*map.store, "", k_most_levels, copy));
  } else {
    VARVE_TRY(add_live_log(map, request.threads, copy));
  }
  return model::copy_with_catalogue(files, copy, request);
}

}  // namespace

Result<WriteReport> backup_store(io::FileSystem& files, const std::string& path,
                                 const std::string& target, const WriteRequest& request) {
  for (int attempt = 1;; ++attempt) {
    auto report = copy_once(files, path, target, request);
    const bool changed = !report && (report.error().code == ErrorCode::locked ||
                                     report.error().system_errno == ENOENT);
    if (!changed || attempt == k_most_attempts) {
      return report;
    }
  }
}

}  // namespace varve::arena
