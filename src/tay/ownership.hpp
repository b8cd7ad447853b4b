// SPDX-License-Identifier: MIT OR Apache-2.0
// The one owner of a store (section 4): the lock, and the certainty that the paths still lead to
// what is held.
#pragma once

#include <expected>
#include <memory>
#include <string>

#include "varve/file_system.hpp"
#include "varve/tay_refusal.hpp"

namespace varve::tay {

class Ownership {
 public:
  // Takes the lock of an existing store: opens it read-write, never creates it.
  static std::expected<Ownership, Refusal> take(io::FileSystem& files, const std::string& path);
  // Holds what an initializer has opened and locked itself.
  static Result<Ownership> adopt(io::FileSystem& files, std::string path,
                                 std::unique_ptr<io::Directory> root,
                                 std::unique_ptr<io::File> lock);

  io::Directory& root() const { return *root_; }
  io::File& lock() const { return *lock_; }
  const std::string& path() const { return path_; }
  io::FileSystem& files() const { return *files_; }

  // The open segments/ directory, once it is known; from then on it is checked too.
  void hold_segments(std::unique_ptr<io::Directory> segments);
  io::Directory* segments() const { return segments_.get(); }

  // ErrorCode::locked, reason "owner_lost", unless the path leads to the held directory, the lock's
  // name to the held file with one link, and "segments" to the held directory.
  Result<void> check() const;

 private:
  Ownership() = default;

  io::FileSystem* files_ = nullptr;
  std::string path_;
  std::unique_ptr<io::Directory> root_;
  std::unique_ptr<io::Directory> segments_;
  std::unique_ptr<io::File> lock_;
  io::FileIdentity root_identity_;
  io::FileIdentity segments_identity_;
  io::FileIdentity lock_identity_;
};

}  // namespace varve::tay
