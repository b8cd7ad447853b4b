// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/initialize.hpp"

#include <cerrno>
#include <utility>

#include "base/mutant.hpp"
#include "tay/log_pass.hpp"
#include "tay/refusal.hpp"
#include "tay/segment_files.hpp"

namespace varve::tay {

namespace {

constexpr std::uint64_t k_entry_limit = 100'000;

// What a directory holds of an initialization.
struct Beginnings {
  std::unique_ptr<io::Directory> segments;  // null: to be made
  std::optional<Id> store_id;               // of the first header, if it is there
};

std::unexpected<Error> in_the_way(const std::string& path, std::string message) {
  auto out = fail_errno(EEXIST, "init", path);
  out.error().message = std::move(message);
  return out;
}

// The bare first header that a crash between steps 4 and 5 leaves.
Result<Id> read_bare_header(const io::Directory& segments, const Listing& listing,
                            const std::string& path) {
  std::vector<Segment> walked = segments_of(listing);
  VARVE_ASSIGN(const LogPassResult result, run_log_pass(segments, walked, {}));
  const Segment& first = walked.front();
  if (walked.size() != 1 || !result.refusals.empty() || !first.header || first.sealed ||
      first.records != 0 || first.id != 1) {
    return in_the_way(path,
                      "there are segments that are more than a bare first header: a store "
                      "that lost its file STORE is not made anew");
  }
  return first.header->store_id;
}

Result<Beginnings> judge(const io::Directory& root, const std::string& path) {
  Beginnings out;
  VARVE_ASSIGN(const Listing listing, list_store(root, k_entry_limit, false, out.segments));
  if (listing.store) {
    return in_the_way(path, "there is a store already");
  }
  if (!listing.problems.empty()) {
    return in_the_way(path, listing.problems.front().message);
  }
  if (!listing.ignored.empty()) {
    return in_the_way(path, "the directory holds something else: " + listing.ignored.front());
  }
  if (!listing.canonical.empty()) {
    VARVE_ASSIGN(out.store_id, read_bare_header(*out.segments, listing, path));
  }
  return out;
}

Result<void> check_store_id(const InitializeOptions& options, const Beginnings& found) {
  if (options.store_id && is_zero(*options.store_id)) {
    return fail(ErrorCode::invalid_argument, "store_id", "a store's id is never all zeros");
  }
  if (options.store_id && found.store_id && *options.store_id != *found.store_id) {
    return fail(ErrorCode::invalid_argument, "store_id",
                "the first segment's header is there already and has another id");
  }
  return {};
}

Id choose_store_id(const InitializeOptions& options, const Beginnings& found,
                   io::Environment& environment) {
  Id id = found.store_id.value_or(options.store_id.value_or(Id{}));
  while (is_zero(id)) {
    environment.random(id);
  }
  return id;
}

// Steps 1 to 3: the directory and its lock, made durable.
Result<Ownership> take_directory(io::FileSystem& files, const std::string& path, bool fresh) {
  VARVE_ASSIGN(auto root, files.make_directories(path));
  auto lock = root->open_file(k_lock_name, io::OpenMode::create_exclusive);
  if (!lock && lock.error().system_errno == EEXIST) {
    if (fresh) {
      return in_the_way(path, "someone else is making a store here");
    }
    lock = root->open_file(k_lock_name, io::OpenMode::read_write);
  }
  if (!lock) {
    return std::unexpected(std::move(lock).error());
  }
  VARVE_TRY((*lock)->lock(io::LockKind::exclusive));
  return Ownership::adopt(files, path, std::move(root), *std::move(lock));
}

// Steps 2 to 5.
Result<void> make_store(Ownership& owner, Beginnings found, const InitializeOptions& options,
                        io::Environment& environment) {
  io::Directory& root = owner.root();
  VARVE_TRY(sync_ancestors(owner.files(), owner.path()));
  VARVE_TRY(root.sync());
  VARVE_TRY(owner.lock().sync());
  VARVE_TRY(root.sync());
  const Id store_id = choose_store_id(options, found, environment);
  if (!found.segments) {
    VARVE_TRY(root.make_directory(k_segments_name, 0700));
    VARVE_ASSIGN(found.segments, root.open_directory(k_segments_name));
  }
  VARVE_TRY(root.sync());
  owner.hold_segments(std::move(found.segments));
  io::Directory& segments = *owner.segments();
  if (!found.store_id) {
    VARVE_TRY(make_segment(segments, {1, 1, store_id}, environment));
  }
  VARVE_TRY(owner.check());
  VARVE_TRY(sync_file(segments, segment_name(1)));
  if (!base::mutant("tay-init-sync")) {
    VARVE_TRY(segments.sync());
  }
  VARVE_TRY(make_store_marker(root, store_id, environment));
  return owner.check();
}

// True if `path` is there, and may be taken all the same.
Result<bool> is_there(io::FileSystem& files, const std::string& path,
                      const InitializeOptions& options) {
  if (path.empty() || path == "/") {
    return fail(ErrorCode::invalid_argument, "data_directory",
                "the data directory must be one of its own", path);
  }
  const auto identity = files.identity_of(path);
  if (!identity) {
    if (identity.error().system_errno == ENOENT) {
      return false;
    }
    return std::unexpected(identity.error());
  }
  if (!options.existing) {
    return in_the_way(path, "there is something already");
  }
  if (identity->type != io::FileType::directory) {
    return in_the_way(path, "there is something that is no directory");
  }
  return true;
}

}  // namespace

Result<Ownership> initialize(io::FileSystem& files, const std::string& path,
                             const InitializeOptions& options) {
  io::Environment& environment =
      options.environment != nullptr ? *options.environment : io::system_environment();
  VARVE_ASSIGN(const bool there, is_there(files, path, options));
  VARVE_TRY(may_initialize(files, path, options));
  VARVE_ASSIGN(Ownership owner, take_directory(files, path, !there));
  // Under the lock once more: only now is it certain that nobody else is at it.
  VARVE_ASSIGN(Beginnings found, judge(owner.root(), path));
  VARVE_TRY(check_store_id(options, found));
  VARVE_TRY(make_store(owner, std::move(found), options, environment));
  return owner;
}

Result<void> may_initialize(io::FileSystem& files, const std::string& path,
                            const InitializeOptions& options) {
  VARVE_ASSIGN(const bool there, is_there(files, path, options));
  Beginnings found;
  if (there) {
    VARVE_ASSIGN(const auto root, files.open_directory(path));
    VARVE_ASSIGN(found, judge(*root, path));
  }
  return check_store_id(options, found);
}

}  // namespace varve::tay
