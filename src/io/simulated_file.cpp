// SPDX-License-Identifier: MIT OR Apache-2.0
// Open files of the simulated file system.
#include <cerrno>

#include "io/simulated_core.hpp"

namespace varve::io {

namespace {

// Beyond this a disk is full: no test needs more, and no bug may fill the machine's memory.
constexpr std::uint64_t k_largest_file_bytes = std::uint64_t{1} << 43;
constexpr std::uint64_t k_largest_allocation_bytes = std::uint64_t{1} << 30;

int errno_of(FaultKind kind) { return kind == FaultKind::io_error ? EIO : ENOSPC; }

class SimulatedFile final : public File {
 public:
  using Core = SimulatedFileSystem::Core;

  SimulatedFile(std::shared_ptr<Core> core, simulated::InodeNumber inode, std::string path,
                bool writable)
      : core_(std::move(core)), inode_(inode), path_(std::move(path)), writable_(writable) {}
  ~SimulatedFile() override {
    const auto held = core_->lock();
    core_->release_lock(inode_, this);
  }

  const std::string& path() const override { return path_; }

  Result<std::size_t> read_at(std::span<std::byte> buffer, std::uint64_t offset) const override {
    VARVE_TRY(announce(CallKind::read, "read"));
    const auto held = core_->lock();
    return core_->node(inode_).content.read(buffer, offset);
  }

  Result<void> write_at(std::span<const std::byte> bytes, std::uint64_t offset) override {
    VARVE_TRY(usable());
    const auto fault = core_->begin(CallKind::write, path_);
    if (!writable_) {
      return poison(EBADF, "write");
    }
    if (offset > k_largest_file_bytes || bytes.size() > k_largest_file_bytes - offset) {
      return poison(EFBIG, "write");
    }
    const auto held = core_->lock();
    if (fault) {
      if (*fault == FaultKind::short_write) {
        core_->write(inode_, bytes.first(bytes.size() / 2), offset);
      }
      return poison(errno_of(*fault), "write");
    }
    core_->write(inode_, bytes, offset);
    return {};
  }

  Result<void> truncate(std::uint64_t size_bytes) override {
    VARVE_TRY(usable());
    const auto fault = core_->begin(CallKind::truncate, path_);
    if (fault) {
      return poison(errno_of(*fault), "truncate");
    }
    if (!writable_ || size_bytes > k_largest_file_bytes) {
      return poison(writable_ ? EFBIG : EINVAL, "truncate");
    }
    const auto held = core_->lock();
    core_->resize(inode_, size_bytes);
    return {};
  }

  Result<void> allocate(std::uint64_t offset, std::uint64_t length) override {
    VARVE_TRY(check_range(CallKind::allocate, "allocate", length));
    if (offset > k_largest_file_bytes || length > k_largest_allocation_bytes) {
      return fail_errno(ENOSPC, "allocate", path_);
    }
    const auto held = core_->lock();
    core_->allocate(inode_, offset, length);
    return {};
  }
  Result<void> punch_hole(std::uint64_t offset, std::uint64_t length) override {
    VARVE_TRY(check_range(CallKind::punch, "punch_hole", length));
    const auto held = core_->lock();
    core_->punch(inode_, offset, length);
    return {};
  }

  Result<std::optional<std::uint64_t>> next_data(std::uint64_t offset) const override {
    VARVE_TRY(announce(CallKind::seek, "seek"));
    const auto held = core_->lock();
    return core_->node(inode_).content.next_data(offset);
  }
  Result<std::uint64_t> next_hole(std::uint64_t offset) const override {
    VARVE_TRY(announce(CallKind::seek, "seek"));
    const auto held = core_->lock();
    return core_->node(inode_).content.next_hole(offset);
  }

  Result<void> sync() override { return sync_as(CallKind::sync); }
  Result<void> data_sync() override { return sync_as(CallKind::sync); }

  Result<FileIdentity> identity() const override {
    VARVE_TRY(announce(CallKind::identity, "stat"));
    const auto held = core_->lock();
    return core_->identity(inode_);
  }

  Result<void> lock(LockKind kind) override {
    VARVE_TRY(announce(CallKind::lock, "lock"));
    const auto held = core_->lock();
    if (!core_->take_lock(inode_, this, kind)) {
      return fail(ErrorCode::locked, "locked", "another process holds the lock", path_);
    }
    return {};
  }
  bool locked_elsewhere() const override {
    const auto held = core_->lock();
    return core_->locked_by_other(inode_, this);
  }
  Result<void> unlock() override {
    VARVE_TRY(announce(CallKind::lock, "unlock"));
    const auto held = core_->lock();
    core_->release_lock(inode_, this);
    return {};
  }

  bool poisoned() const override { return poisoned_; }
  void read_ahead(std::uint64_t, std::uint64_t) const override {}

 private:
  Result<void> announce(CallKind kind, const char* name) const {
    if (const auto fault = core_->begin(kind, path_)) {
      return fail_errno(errno_of(*fault), name, path_);
    }
    return {};
  }
  Result<void> usable() const {
    if (poisoned_) {
      return fail(ErrorCode::poisoned, "poisoned",
                  "an earlier write or sync of this file failed; reopen and recover", path_);
    }
    return {};
  }
  Result<void> poison(int error, const char* name) {
    poisoned_ = true;
    return fail_errno(error, name, path_);
  }
  // Calls that leave the handle good when they fail, since nothing was changed.
  Result<void> check_range(CallKind kind, const char* name, std::uint64_t length) {
    VARVE_TRY(usable());
    VARVE_TRY(announce(kind, name));
    if (!writable_ || length == 0) {
      return fail_errno(writable_ ? EINVAL : EBADF, name, path_);
    }
    return {};
  }
  Result<void> sync_as(CallKind kind) {
    VARVE_TRY(usable());
    const auto fault = core_->begin(kind, path_);
    const auto held = core_->lock();
    if (fault) {
      core_->lose(inode_);
      return poison(errno_of(*fault), "sync");
    }
    core_->make_durable(inode_);
    return {};
  }

  std::shared_ptr<Core> core_;
  simulated::InodeNumber inode_;
  std::string path_;
  bool writable_;
  bool poisoned_ = false;
};

}  // namespace

std::unique_ptr<File> make_simulated_file(std::shared_ptr<SimulatedFileSystem::Core> core,
                                          simulated::InodeNumber inode, std::string path,
                                          bool writable) {
  return std::make_unique<SimulatedFile>(std::move(core), inode, std::move(path), writable);
}

Result<std::unique_ptr<File>> open_simulated_file(
    const std::shared_ptr<SimulatedFileSystem::Core>& core, simulated::InodeNumber directory,
    const std::string& name, OpenMode mode, std::string path) {
  const auto held = core->lock();
  simulated::InodeNumber inode = core->find(directory, name);
  const bool creates = mode == OpenMode::create || mode == OpenMode::create_exclusive;
  if (inode == 0) {
    if (!creates || core->links(directory) == 0) {
      return fail_errno(ENOENT, "open", std::move(path));
    }
    inode = core->make_node(FileType::regular, 0600);
    core->set_name(directory, name, inode);
  } else if (mode == OpenMode::create_exclusive) {
    return fail_errno(EEXIST, "open", std::move(path));
  }
  switch (core->node(inode).type) {
    case FileType::regular:
      return make_simulated_file(core, inode, std::move(path), mode != OpenMode::read);
    case FileType::symlink:
      return fail_errno(ELOOP, "open", std::move(path));
    case FileType::directory:
      if (mode != OpenMode::read) {
        return fail_errno(EISDIR, "open", std::move(path));
      }
      break;
    case FileType::other:
      break;
  }
  return fail(ErrorCode::invalid_argument, "file_type", "not a regular file", std::move(path));
}

}  // namespace varve::io
