// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/ownership.hpp"

#include <cerrno>
#include <utility>

#include "tay/layout.hpp"
#include "tay/refusal.hpp"

namespace varve::tay {

namespace {

Refusal unavailable(std::string word, std::string message, std::string file) {
  Refusal out = make_refusal(RefusalKind::ownership_unavailable, "ownership", std::move(word),
                             std::move(message));
  out.file = std::move(file);
  return out;
}

Refusal missing(const Error& error) {
  if (error.system_errno == ENOENT || error.system_errno == ENOTDIR) {
    return unavailable("existing_root_or_lock_missing",
                       "the data directory or its lock file is missing", error.path);
  }
  if (error.code == ErrorCode::invalid_argument || error.system_errno == ELOOP) {
    return unavailable("lock_file_type", "the lock is not an ordinary file", error.path);
  }
  return refusal_of(error, "ownership");
}

}  // namespace

std::expected<Ownership, Refusal> Ownership::take(io::FileSystem& files, const std::string& path) {
  if (path.empty() || path == "/") {
    return std::unexpected(make_refusal(RefusalKind::argument, "options", "data_directory",
                                        "the data directory must be one of its own"));
  }
  auto root = files.open_directory(path);
  if (!root) {
    return std::unexpected(missing(root.error()));
  }
  auto lock = (*root)->open_file(k_lock_name, io::OpenMode::read_write);
  if (!lock) {
    return std::unexpected(missing(lock.error()));
  }
  if (auto locked = (*lock)->lock(io::LockKind::exclusive); !locked) {
    if (locked.error().code != ErrorCode::locked) {
      return std::unexpected(refusal_of(locked.error(), "ownership"));
    }
    Refusal busy = make_refusal(RefusalKind::ownership_busy, "ownership", "store_busy",
                                "another process holds the store's lock");
    busy.file = (*lock)->path();
    return std::unexpected(std::move(busy));
  }
  auto held = adopt(files, path, *std::move(root), *std::move(lock));
  if (!held) {
    return std::unexpected(refusal_of(held.error(), "ownership"));
  }
  if (auto same = held->check(); !same) {
    return std::unexpected(unavailable(same.error().reason, same.error().message, path));
  }
  return *std::move(held);
}

Result<Ownership> Ownership::adopt(io::FileSystem& files, std::string path,
                                   std::unique_ptr<io::Directory> root,
                                   std::unique_ptr<io::File> lock) {
  Ownership out;
  out.files_ = &files;
  out.path_ = std::move(path);
  VARVE_ASSIGN(out.root_identity_, root->identity());
  VARVE_ASSIGN(out.lock_identity_, lock->identity());
  out.root_ = std::move(root);
  out.lock_ = std::move(lock);
  return out;
}

void Ownership::hold_segments(std::unique_ptr<io::Directory> segments) {
  if (auto identity = segments->identity()) {
    segments_identity_ = *identity;
  }
  segments_ = std::move(segments);
}

Result<void> Ownership::check() const {
  const auto lost = [this](const char* what) {
    return fail(ErrorCode::locked, "owner_lost",
                std::string(what) + " no longer is the one that was opened", path_);
  };
  VARVE_ASSIGN(const io::FileIdentity root, files_->identity_of(path_));
  if (!root.same_object(root_identity_)) {
    return lost("the data directory");
  }
  VARVE_ASSIGN(const io::FileIdentity lock, root_->identity_of(k_lock_name));
  if (!lock.same_object(lock_identity_) || lock.links != 1) {
    return lost("the lock file");
  }
  if (segments_) {
    VARVE_ASSIGN(const io::FileIdentity segments, root_->identity_of(k_segments_name));
    if (!segments.same_object(segments_identity_)) {
      return lost("the directory of segments");
    }
  }
  return {};
}

}  // namespace varve::tay
