// SPDX-License-Identifier: MIT OR Apache-2.0
// A file descriptor that closes itself, and calls of which the rest of the folder needs the answer.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <utility>

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

// Whether some open description of the machine holds an exclusive flock on that file, as far as the
// system's table of locks shows (it hides those of other containers).
bool flock_is_held(std::uint64_t device, std::uint64_t inode);

}  // namespace varve::io
