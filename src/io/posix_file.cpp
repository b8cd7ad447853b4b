// SPDX-License-Identifier: MIT OR Apache-2.0
// The operating system's files.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <limits>

#include "io/posix_calls.hpp"
#include "io/system_file.hpp"
#include "varve/file_system.hpp"

namespace varve::io {

namespace {

// Since 1970; a time that 64 bits cannot hold (file systems know years far beyond 2262) becomes the
// nearest one that they can.
std::int64_t nanoseconds(const timespec& time) {
  constexpr std::int64_t k_second = 1'000'000'000;
  constexpr std::int64_t k_most = std::numeric_limits<std::int64_t>::max();
  if (time.tv_sec > k_most / k_second - 1) {
    return k_most;
  }
  if (time.tv_sec < -(k_most / k_second - 1)) {
    return -k_most;
  }
  return time.tv_sec * k_second + time.tv_nsec;
}

// Whether the system's calls can say such an offset at all.
bool is_offset(std::uint64_t offset) {
  return offset <= static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());
}

}  // namespace

FileIdentity identity_from(const struct stat& info) {
  FileIdentity out;
  out.device = info.st_dev;
  out.inode = info.st_ino;
  out.links = info.st_nlink;
  out.size_bytes = static_cast<std::uint64_t>(info.st_size);
  out.allocated_bytes = static_cast<std::uint64_t>(info.st_blocks) * 512;
  out.type = S_ISREG(info.st_mode)   ? FileType::regular
             : S_ISDIR(info.st_mode) ? FileType::directory
             : S_ISLNK(info.st_mode) ? FileType::symlink
                                     : FileType::other;
  out.mode = info.st_mode & 07777;
  out.modified_ns = nanoseconds(info.st_mtim);
  out.changed_ns = nanoseconds(info.st_ctim);
  return out;
}

namespace {

class PosixFile final : public SystemFile {
 public:
  PosixFile(Descriptor descriptor, std::string path)
      : descriptor_(std::move(descriptor)), path_(std::move(path)) {}

  const std::string& path() const override { return path_; }

  Result<std::size_t> read_at(std::span<std::byte> buffer, std::uint64_t offset) const override {
    std::size_t done = 0;
    while (done < buffer.size() && is_offset(offset + done)) {
      const ssize_t n = ::pread(descriptor_.get(), buffer.data() + done, buffer.size() - done,
                                static_cast<off_t>(offset + done));
      if (n < 0) {
        if (errno == EINTR) continue;
        return fail_errno(errno, "read", path_);
      }
      if (n == 0) {
        break;
      }
      done += static_cast<std::size_t>(n);
    }
    return done;
  }

  Result<void> write_at(std::span<const std::byte> bytes, std::uint64_t offset) override {
    VARVE_TRY(usable());
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t n = ::pwrite(descriptor_.get(), bytes.data() + done, bytes.size() - done,
                                 static_cast<off_t>(offset + done));
      if (n < 0 && errno == EINTR) {
        continue;
      }
      if (n <= 0) {
        poisoned_ = true;
        return fail_errno(n < 0 ? errno : ENOSPC, "write", path_);
      }
      done += static_cast<std::size_t>(n);
    }
    return {};
  }

  Result<void> truncate(std::uint64_t size_bytes) override {
    return change("truncate", [&] {
      return uninterrupted([&] { return ::ftruncate(fd(), static_cast<off_t>(size_bytes)); });
    });
  }
  Result<void> allocate(std::uint64_t offset, std::uint64_t length) override {
    return reserve_or_free("allocate", 0, offset, length);
  }
  Result<void> punch_hole(std::uint64_t offset, std::uint64_t length) override {
    return reserve_or_free("punch_hole", FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset,
                           length);
  }

  Result<std::optional<std::uint64_t>> next_data(std::uint64_t offset) const override {
    if (!is_offset(offset)) {
      return std::optional<std::uint64_t>();
    }
    const off_t at = ::lseek(fd(), static_cast<off_t>(offset), SEEK_DATA);
    if (at >= 0) {
      return static_cast<std::uint64_t>(at);
    }
    if (errno == ENXIO) {
      return std::optional<std::uint64_t>();
    }
    if (errno == EINVAL) {
      return offset;
    }
    return fail_errno(errno, "seek", path_);
  }
  Result<std::uint64_t> next_hole(std::uint64_t offset) const override {
    const off_t at = ::lseek(fd(), static_cast<off_t>(offset), SEEK_HOLE);
    if (at >= 0) {
      return static_cast<std::uint64_t>(at);
    }
    if (errno == ENXIO || errno == EINVAL) {
      VARVE_ASSIGN(const FileIdentity info, identity());
      return info.size_bytes;
    }
    return fail_errno(errno, "seek", path_);
  }

  Result<void> sync() override {
    return change("sync", [&] { return ::fsync(fd()); });
  }
  Result<void> data_sync() override {
    return change("sync", [&] { return ::fdatasync(fd()); });
  }

  Result<FileIdentity> identity() const override {
    struct stat info{};
    if (::fstat(fd(), &info) != 0) {
      return fail_errno(errno, "stat", path_);
    }
    return identity_from(info);
  }

  Result<void> lock(LockKind kind) override {
    const int operation = (kind == LockKind::exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB;
    while (::flock(fd(), operation) != 0) {
      if (errno == EINTR) continue;
      if (errno == EWOULDBLOCK) {
        return fail(ErrorCode::locked, "locked", "another process holds the lock", path_);
      }
      return fail_errno(errno, "lock", path_);
    }
    locked_ = true;
    return {};
  }
  Result<void> unlock() override {
    if (::flock(fd(), LOCK_UN) != 0) {
      return fail_errno(errno, "unlock", path_);
    }
    locked_ = false;
    return {};
  }

  bool locked_elsewhere() const override {
    struct stat info{};
    return !locked_ && ::fstat(fd(), &info) == 0 && flock_is_held(info.st_dev, info.st_ino);
  }

  int descriptor() const override { return fd(); }
  bool poisoned() const override { return poisoned_; }
  void read_ahead(std::uint64_t offset, std::uint64_t length) const override {
    ::posix_fadvise(fd(), static_cast<off_t>(offset), static_cast<off_t>(length),
                    POSIX_FADV_WILLNEED);
  }

 private:
  int fd() const { return descriptor_.get(); }
  Result<void> usable() const {
    if (poisoned_) {
      return fail(ErrorCode::poisoned, "poisoned",
                  "an earlier write or sync of this file failed; reopen and recover", path_);
    }
    return {};
  }
  // A failure leaves the handle good: no byte that a reader sees has changed.
  Result<void> reserve_or_free(const char* name, int mode, std::uint64_t offset,
                               std::uint64_t length) {
    VARVE_TRY(usable());
    const int result = uninterrupted([&] {
      return ::fallocate(fd(), mode, static_cast<off_t>(offset), static_cast<off_t>(length));
    });
    return result == 0 ? Result<void>() : fail_errno(errno, name, path_);
  }
  template <class Call>
  Result<void> change(const char* name, Call call) {
    VARVE_TRY(usable());
    if (call() != 0) {
      const int error = errno;
      poisoned_ = true;
      return fail_errno(error, name, path_);
    }
    return {};
  }

  Descriptor descriptor_;
  std::string path_;
  bool poisoned_ = false;
  bool locked_ = false;
};

int flags_of(OpenMode mode) {
  switch (mode) {
    case OpenMode::read:
      return O_RDONLY;
    case OpenMode::read_write:
      return O_RDWR;
    case OpenMode::create:
      return O_RDWR | O_CREAT;
    case OpenMode::create_exclusive:
      return O_RDWR | O_CREAT | O_EXCL;
  }
  return O_RDONLY;
}

}  // namespace

Result<std::unique_ptr<File>> open_regular(int directory, const char* name, OpenMode mode,
                                           int extra_flags, std::string path) {
  const auto refuse = [&] {
    return fail(ErrorCode::invalid_argument, "file_type", "not a regular file", path);
  };
  // Opening a device can do things (rewind a tape, start a watchdog): look before.
  struct stat before{};
  const int stat_flags = (extra_flags & O_NOFOLLOW) != 0 ? AT_SYMLINK_NOFOLLOW : 0;
  if (::fstatat(directory, name, &before, stat_flags) == 0 &&
      identity_from(before).type == FileType::other) {
    return refuse();
  }
  // O_NONBLOCK: should a FIFO have taken the name meanwhile, opening it must not wait.
  const int flags = flags_of(mode) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | extra_flags;
  const auto open_with = [&](int more_flags) {
    return Descriptor(
        uninterrupted([&] { return ::openat(directory, name, flags | more_flags, 0600); }));
  };
  Descriptor descriptor;
  if (mode == OpenMode::read) {
    // Reading leaves the access time alone where the system permits that (to the owner or root).
    descriptor = open_with(O_NOATIME);
  }
  if (!descriptor.valid() && (mode != OpenMode::read || errno == EPERM)) {
    descriptor = open_with(0);
  }
  if (!descriptor.valid()) {
    return fail_errno(errno, "open", std::move(path));
  }
  auto file = std::make_unique<PosixFile>(std::move(descriptor), path);
  VARVE_ASSIGN(const FileIdentity info, file->identity());
  if (info.type != FileType::regular) {
    return refuse();
  }
  return file;
}

}  // namespace varve::io
