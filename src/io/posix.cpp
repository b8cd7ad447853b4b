// SPDX-License-Identifier: MIT OR Apache-2.0
// The operating system's directories and file system. Together with posix_file.cpp the only code of
// the library that calls POSIX for files.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "io/posix_calls.hpp"
#include "varve/file_system.hpp"

namespace varve::io {

namespace {

std::string join(const std::string& directory, std::string_view name) {
  std::string out = directory;
  if (!out.ends_with('/')) {
    out += '/';
  }
  out += name;
  return out;
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

int open_directory_at(int directory, const char* name, int extra_flags) {
  return uninterrupted(
      [&] { return ::openat(directory, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | extra_flags); });
}

// A path that the system would read only up to its first NUL names another thing than was said.
Result<void> check_path(const std::string& path) {
  if (path.find('\0') == std::string::npos) {
    return {};
  }
  return fail(ErrorCode::invalid_argument, "path", "a path with a NUL byte in it", path);
}

class PosixDirectory final : public Directory {
 public:
  PosixDirectory(Descriptor descriptor, std::string path)
      : descriptor_(std::move(descriptor)), path_(std::move(path)) {}

  const std::string& path() const override { return path_; }

  Result<std::vector<DirectoryEntry>> list() const override {
    Descriptor copy(open_directory_at(fd(), ".", 0));
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
    Descriptor descriptor(open_directory_at(fd(), std::string(name).c_str(), O_NOFOLLOW));
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
    VARVE_TRY(check_path(path));
    struct stat info{};
    if (::stat(path.c_str(), &info) != 0) {
      return fail_errno(errno, "stat", path);
    }
    return identity_from(info);
  }
  Result<std::unique_ptr<Directory>> open_directory(const std::string& path) override {
    VARVE_TRY(check_path(path));
    Descriptor descriptor(open_directory_at(AT_FDCWD, path.c_str(), 0));
    if (!descriptor.valid()) {
      return fail_errno(errno, "open", path);
    }
    return std::make_unique<PosixDirectory>(std::move(descriptor), path);
  }
  Result<std::unique_ptr<File>> open_file(const std::string& path, OpenMode mode) override {
    VARVE_TRY(check_path(path));
    return open_regular(AT_FDCWD, path.c_str(), mode, 0, path);
  }
  Result<std::unique_ptr<Directory>> make_directories(const std::string& path) override {
    auto existing = open_directory(path);
    if (existing || existing.error().system_errno != ENOENT) {
      return existing;
    }
    const SplitPath split = split_path(path);
    VARVE_ASSIGN(auto parent, make_directories(split.parent));
    if (split.name == "." || split.name == "..") {
      return open_directory(path);  // the parent had to be there for it to mean something
    }
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
