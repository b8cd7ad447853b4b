// SPDX-License-Identifier: MIT OR Apache-2.0
// The operating system's file system. The only file of the library that calls POSIX for files.
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "io/posix_calls.hpp"
#include "varve/file_system.hpp"

namespace varve::io {

namespace {

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
  out.modified_ns = info.st_mtim.tv_sec * std::int64_t{1'000'000'000} + info.st_mtim.tv_nsec;
  out.changed_ns = info.st_ctim.tv_sec * std::int64_t{1'000'000'000} + info.st_ctim.tv_nsec;
  return out;
}

std::string join(const std::string& directory, std::string_view name) {
  std::string out = directory;
  if (!out.ends_with('/')) {
    out += '/';
  }
  out += name;
  return out;
}

class PosixFile final : public File {
 public:
  PosixFile(Descriptor descriptor, std::string path)
      : descriptor_(std::move(descriptor)), path_(std::move(path)) {}

  const std::string& path() const override { return path_; }

  Result<std::size_t> read_at(std::span<std::byte> buffer, std::uint64_t offset) const override {
    std::size_t done = 0;
    while (done < buffer.size()) {
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
    return change("truncate", [&] { return ::ftruncate(fd(), static_cast<off_t>(size_bytes)); });
  }
  Result<void> allocate(std::uint64_t offset, std::uint64_t length) override {
    VARVE_TRY(usable());
    if (::fallocate(fd(), 0, static_cast<off_t>(offset), static_cast<off_t>(length)) == 0) {
      return {};
    }
    return fail_errno(errno, "allocate", path_);  // nothing was changed: the handle stays good
  }
  Result<void> punch_hole(std::uint64_t offset, std::uint64_t length) override {
    VARVE_TRY(usable());
    if (::fallocate(fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                    static_cast<off_t>(length)) == 0) {
      return {};
    }
    return fail_errno(errno, "punch_hole", path_);
  }

  Result<std::optional<std::uint64_t>> next_data(std::uint64_t offset) const override {
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

Result<std::unique_ptr<File>> open_regular(int directory, const char* name, OpenMode mode,
                                           int extra_flags, std::string path) {
  // O_NONBLOCK: opening a FIFO must not wait; it has no effect on regular files.
  const int flags = flags_of(mode) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | extra_flags;
  Descriptor descriptor;
  if (mode == OpenMode::read) {
    // Reading leaves the access time alone where the system permits that (to the owner or root).
    descriptor = Descriptor(::openat(directory, name, flags | O_NOATIME));
  }
  if (!descriptor.valid() && (mode != OpenMode::read || errno == EPERM)) {
    descriptor = Descriptor(::openat(directory, name, flags, 0600));
  }
  if (!descriptor.valid()) {
    return fail_errno(errno, "open", std::move(path));
  }
  auto file = std::make_unique<PosixFile>(std::move(descriptor), path);
  VARVE_ASSIGN(const FileIdentity info, file->identity());
  if (info.type != FileType::regular) {
    return fail(ErrorCode::invalid_argument, "file_type", "not a regular file", std::move(path));
  }
  return file;
}

bool plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

Result<void> check_name(std::string_view name, const std::string& directory) {
  if (plain_name(name)) {
    return {};
  }
  return fail(ErrorCode::invalid_argument, "name", "not a plain file name", join(directory, name));
}

class PosixDirectory final : public Directory {
 public:
  PosixDirectory(Descriptor descriptor, std::string path)
      : descriptor_(std::move(descriptor)), path_(std::move(path)) {}

  const std::string& path() const override { return path_; }

  Result<std::vector<DirectoryEntry>> list() const override {
    Descriptor copy(::openat(fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!copy.valid()) {
      return fail_errno(errno, "open", path_);
    }
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(copy.get()), &::closedir);
    if (!stream) {
      return fail_errno(errno, "list", path_);
    }
    copy.release();  // the stream owns it now
    std::vector<DirectoryEntry> out;
    for (;;) {
      errno = 0;
      const dirent* entry = ::readdir(stream.get());
      if (entry == nullptr) {
        if (errno != 0) {
          return fail_errno(errno, "list", path_);
        }
        return out;
      }
      const std::string name = entry->d_name;
      if (name == "." || name == "..") {
        continue;
      }
      auto identity = identity_of(name);
      if (identity) {
        out.push_back({name, *identity});
      } else if (identity.error().system_errno != ENOENT) {  // gone meanwhile: not listed
        return std::unexpected(std::move(identity).error());
      }
    }
  }

  Result<FileIdentity> identity() const override {
    struct stat info{};
    if (::fstat(fd(), &info) != 0) {
      return fail_errno(errno, "stat", path_);
    }
    return identity_from(info);
  }
  Result<FileIdentity> identity_of(std::string_view name) const override {
    VARVE_TRY(check_name(name, path_));
    struct stat info{};
    if (::fstatat(fd(), std::string(name).c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      return fail_errno(errno, "stat", join(path_, name));
    }
    return identity_from(info);
  }

  Result<std::unique_ptr<File>> open_file(std::string_view name, OpenMode mode) const override {
    VARVE_TRY(check_name(name, path_));
    return open_regular(fd(), std::string(name).c_str(), mode, O_NOFOLLOW, join(path_, name));
  }
  Result<std::unique_ptr<Directory>> open_directory(std::string_view name) const override {
    VARVE_TRY(check_name(name, path_));
    Descriptor descriptor(
        ::openat(fd(), std::string(name).c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!descriptor.valid()) {
      return fail_errno(errno, "open", join(path_, name));
    }
    return std::make_unique<PosixDirectory>(std::move(descriptor), join(path_, name));
  }

  Result<void> make_directory(std::string_view name, std::uint32_t mode) override {
    return change(name, "mkdir", [&](const char* n) { return ::mkdirat(fd(), n, mode); });
  }
  Result<void> rename(std::string_view from, Directory& to_directory,
                      std::string_view to) override {
    return rename_with(from, to_directory, to, 0);
  }
  Result<void> rename_no_replace(std::string_view from, Directory& to_directory,
                                 std::string_view to) override {
    return rename_with(from, to_directory, to, RENAME_NOREPLACE);
  }
  Result<void> remove_file(std::string_view name) override {
    return change(name, "unlink", [&](const char* n) { return ::unlinkat(fd(), n, 0); });
  }
  Result<void> remove_directory(std::string_view name) override {
    return change(name, "rmdir", [&](const char* n) { return ::unlinkat(fd(), n, AT_REMOVEDIR); });
  }
  Result<void> sync() override {
    if (::fsync(fd()) != 0) {
      return fail_errno(errno, "sync", path_);
    }
    return {};
  }

  int fd() const { return descriptor_.get(); }

 private:
  template <class Call>
  Result<void> change(std::string_view name, const char* call_name, Call call) {
    VARVE_TRY(check_name(name, path_));
    if (call(std::string(name).c_str()) != 0) {
      return fail_errno(errno, call_name, join(path_, name));
    }
    return {};
  }
  Result<void> rename_with(std::string_view from, Directory& to_directory, std::string_view to,
                           unsigned flags) {
    VARVE_TRY(check_name(to, to_directory.path()));
    const auto* target = dynamic_cast<PosixDirectory*>(&to_directory);
    if (target == nullptr) {
      return fail(ErrorCode::invalid_argument, "rename", "directories of two file systems", path_);
    }
    const std::string to_name(to);
    return change(from, "rename", [&](const char* n) {
      return ::renameat2(fd(), n, target->fd(), to_name.c_str(), flags);
    });
  }

  Descriptor descriptor_;
  std::string path_;
};

class PosixFileSystem final : public FileSystem {
 public:
  Result<FileIdentity> identity_of(const std::string& path) override {
    struct stat info{};
    if (::stat(path.c_str(), &info) != 0) {
      return fail_errno(errno, "stat", path);
    }
    return identity_from(info);
  }
  Result<std::unique_ptr<Directory>> open_directory(const std::string& path) override {
    Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!descriptor.valid()) {
      return fail_errno(errno, "open", path);
    }
    return std::make_unique<PosixDirectory>(std::move(descriptor), path);
  }
  Result<std::unique_ptr<File>> open_file(const std::string& path, OpenMode mode) override {
    return open_regular(AT_FDCWD, path.c_str(), mode, 0, path);
  }
  Result<std::unique_ptr<Directory>> make_directories(const std::string& path) override {
    auto existing = open_directory(path);
    if (existing || existing.error().system_errno != ENOENT) {
      return existing;
    }
    const SplitPath split = split_path(path);
    VARVE_ASSIGN(auto parent, make_directories(split.parent));
    auto made = parent->make_directory(split.name, 0700);
    if (!made && made.error().system_errno != EEXIST) {
      return std::unexpected(std::move(made).error());
    }
    VARVE_TRY(parent->sync());
    return open_directory(path);
  }
};

}  // namespace

FileSystem& posix_file_system() {
  static PosixFileSystem file_system;
  return file_system;
}

}  // namespace varve::io
