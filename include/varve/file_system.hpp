// SPDX-License-Identifier: MIT OR Apache-2.0
// The only door to files. Every reader and writer of the library goes through this interface, so
// that the simulated file system sees each write, sync, rename and directory sync. Names are raw
// bytes; nothing here follows a symbolic link below the root that a caller opened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "varve/result.hpp"

namespace varve::io {

enum class FileType : std::uint8_t { regular, directory, symlink, other };

// What tells one file object from another, and what a reader compares before and after it reads.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t links = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t allocated_bytes = 0;  // what the file occupies; less than size for sparse files
  FileType type = FileType::other;
  std::uint32_t mode = 0;        // permission bits
  std::int64_t modified_ns = 0;  // since 1970
  std::int64_t changed_ns = 0;

  // True if both name the same object (device, inode, type), whatever its size now is.
  bool same_object(const FileIdentity& other) const {
    return device == other.device && inode == other.inode && type == other.type;
  }
};

struct DirectoryEntry {
  std::string name;  // raw bytes, never "." or ".."
  FileIdentity identity;
};

enum class OpenMode : std::uint8_t {
  read,              // must exist
  read_write,        // must exist
  create,            // read-write; made if missing, mode 0600
  create_exclusive,  // read-write; must not exist (EEXIST), mode 0600
};

enum class LockKind : std::uint8_t { shared, exclusive };

// An open regular file. Not thread-safe, except that `read_at` may be called from several threads.
// After a failed write, sync or truncate the handle is poisoned: every later write and sync fails
// with ErrorCode::poisoned (a sync that is retried after a failure would report success although
// dirty data is gone). Reads go on.
class File {
 public:
  virtual ~File() = default;
  // The path for messages.
  virtual const std::string& path() const = 0;

  // Reads up to buffer.size() bytes at `offset`; fewer only at the end of the file.
  virtual Result<std::size_t> read_at(std::span<std::byte> buffer, std::uint64_t offset) const = 0;
  // Writes all bytes with as few calls as the system takes; a short write is an error.
  virtual Result<void> write_at(std::span<const std::byte> bytes, std::uint64_t offset) = 0;
  virtual Result<void> truncate(std::uint64_t size_bytes) = 0;
  // Reserves space for [offset, offset+length); grows the file if it ends before.
  virtual Result<void> allocate(std::uint64_t offset, std::uint64_t length) = 0;
  // Frees the space below a range; it then reads as zeros. ENOTSUP where the system cannot.
  virtual Result<void> punch_hole(std::uint64_t offset, std::uint64_t length) = 0;
  // The first offset >= `offset` that may hold data (a hole before it reads as zeros); nullopt if
  // there is none up to the end. Where holes cannot be asked for, returns `offset`.
  virtual Result<std::optional<std::uint64_t>> next_data(std::uint64_t offset) const = 0;
  // The first offset >= `offset` where a hole begins; the file's end counts as a hole.
  virtual Result<std::uint64_t> next_hole(std::uint64_t offset) const = 0;
  virtual Result<void> sync() = 0;       // fsync: data and metadata
  virtual Result<void> data_sync() = 0;  // fdatasync: data and the length needed to read it
  virtual Result<FileIdentity> identity() const = 0;
  // Takes flock without waiting; ErrorCode::locked if another open description holds it.
  virtual Result<void> lock(LockKind kind) = 0;
  virtual Result<void> unlock() = 0;
  // Whether another open description holds flock exclusively, found out without taking it. False
  // where the system cannot tell: good for a warning, not for a decision.
  virtual bool locked_elsewhere() const { return false; }
  virtual bool poisoned() const = 0;
  // Hints that [offset, offset+length) will be read soon. Never fails.
  virtual void read_ahead(std::uint64_t offset, std::uint64_t length) const = 0;
};

// An open directory. `name` arguments are single components: no '/', not "", ".", "..".
class Directory {
 public:
  virtual ~Directory() = default;
  virtual const std::string& path() const = 0;

  // All entries, with their identities (lstat: links are not followed), in no particular order.
  virtual Result<std::vector<DirectoryEntry>> list() const = 0;
  virtual Result<FileIdentity> identity() const = 0;
  virtual Result<FileIdentity> identity_of(std::string_view name) const = 0;
  // Regular files only: anything else is ErrorCode::invalid_argument with reason "file_type".
  virtual Result<std::unique_ptr<File>> open_file(std::string_view name, OpenMode mode) const = 0;
  virtual Result<std::unique_ptr<Directory>> open_directory(std::string_view name) const = 0;
  virtual Result<void> make_directory(std::string_view name, std::uint32_t mode) = 0;
  // Renames within or across directories of one file system.
  virtual Result<void> rename(std::string_view from, Directory& to_directory,
                              std::string_view to) = 0;
  // As rename, but fails with EEXIST if the target exists.
  virtual Result<void> rename_no_replace(std::string_view from, Directory& to_directory,
                                         std::string_view to) = 0;
  virtual Result<void> remove_file(std::string_view name) = 0;
  virtual Result<void> remove_directory(std::string_view name) = 0;
  virtual Result<void> sync() = 0;
};

// A file system. Thread-safe.
class FileSystem {
 public:
  virtual ~FileSystem() = default;
  // Follows links in `path`, as a user who typed it expects.
  virtual Result<FileIdentity> identity_of(const std::string& path) = 0;
  virtual Result<std::unique_ptr<Directory>> open_directory(const std::string& path) = 0;
  virtual Result<std::unique_ptr<File>> open_file(const std::string& path, OpenMode mode) = 0;
  // Makes the missing components of `path` (mode 0700), syncing the parent of each one made,
  // outermost first, and opens it.
  virtual Result<std::unique_ptr<Directory>> make_directories(const std::string& path) = 0;
};

// The operating system's. One object, alive for ever.
FileSystem& posix_file_system();

// Splits a path into its parent directory ("." if none) and last component.
struct SplitPath {
  std::string parent;
  std::string name;
};
SplitPath split_path(const std::string& path);

// Sources of what a writer would otherwise take from the machine, so that tests repeat exactly.
class Environment {
 public:
  virtual ~Environment() = default;
  virtual std::int64_t now_us() = 0;  // microseconds since 1970
  virtual std::int64_t now_ns() = 0;  // nanoseconds since 1970
  virtual void random(std::span<std::byte> out) = 0;
  virtual std::uint64_t process_id() = 0;
};
Environment& system_environment();

}  // namespace varve::io
