// SPDX-License-Identifier: MIT OR Apache-2.0
// The lock of a store (section 14): `.hms.lock` in the store directory, held by whoever writes.
#pragma once

#include <memory>

#include "varve/file_system.hpp"

namespace varve::arena {

class StoreLock {
 public:
  // Creates the file if it is missing and takes it; ErrorCode::locked if another open description
  // has it. Writes the process id into it, for people.
  static Result<StoreLock> take(const io::Directory& store, io::Environment& environment);
  // Takes it only if the file is there, and leaves its content alone: for copying. Null if there is
  // no such file.
  static Result<StoreLock> take_quietly(const io::Directory& store);

  bool held() const { return file_ != nullptr; }

 private:
  explicit StoreLock(std::unique_ptr<io::File> file) : file_(std::move(file)) {}
  std::unique_ptr<io::File> file_;  // closing it releases the lock
};

}  // namespace varve::arena
