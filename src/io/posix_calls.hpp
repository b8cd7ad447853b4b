// SPDX-License-Identifier: MIT OR Apache-2.0
// A file descriptor that closes itself, and calls of which the rest of the folder needs the answer.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "varve/file_system.hpp"

struct stat;

namespace varve::io {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

// Makes a call again as long as a signal interrupts it. Not for syncs: what an interrupted sync may
// have lost is not known, so it counts as failed.
template <class Call>
auto uninterrupted(Call call) {
  for (;;) {
    const auto result = call();
    if (result != -1 || errno != EINTR) {
      return result;
    }
  }
}

FileIdentity identity_from(const struct stat& info);

// Opens a regular file relative to a directory's descriptor (or AT_FDCWD); anything else is refused
// with reason "file_type", devices and the like without opening them. `path` is for messages.
Result<std::unique_ptr<File>> open_regular(int directory, const char* name, OpenMode mode,
                                           int extra_flags, std::string path);

// Whether some open description of the machine holds an exclusive flock on that file, as far as the
// system's table of locks shows (it hides those of other containers).
bool flock_is_held(std::uint64_t device, std::uint64_t inode);

}  // namespace varve::io
