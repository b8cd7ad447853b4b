// SPDX-License-Identifier: MIT OR Apache-2.0
// Open directories of the simulated file system.
#include <cerrno>

#include "io/simulated_core.hpp"

namespace varve::io {

namespace {

int errno_of(FaultKind kind) { return kind == FaultKind::io_error ? EIO : ENOSPC; }

std::string join(const std::string& directory, std::string_view name) {
  std::string out = directory;
  if (!out.ends_with('/')) {
    out += '/';
  }
  out += name;
  return out;
}

class SimulatedDirectory final : public Directory {
 public:
  using Core = SimulatedFileSystem::Core;

  SimulatedDirectory(std::shared_ptr<Core> core, simulated::InodeNumber inode, std::string path)
      : core_(std::move(core)), inode_(inode), path_(std::move(path)) {}

  const std::string& path() const override { return path_; }

  Result<std::vector<DirectoryEntry>> list() const override {
    VARVE_TRY(announce(CallKind::list, "list", path_));
    const auto held = core_->lock();
    std::vector<DirectoryEntry> out;
    for (const auto& [name, inode] : core_->node(inode_).entries) {
      out.push_back({name, core_->identity(inode)});
    }
    return out;
  }

  Result<FileIdentity> identity() const override {
    VARVE_TRY(announce(CallKind::identity, "stat", path_));
    const auto held = core_->lock();
    return core_->identity(inode_);
  }
  Result<FileIdentity> identity_of(std::string_view name) const override {
    VARVE_TRY(start(CallKind::identity, "stat", name));
    const auto held = core_->lock();
    const simulated::InodeNumber inode = core_->find(inode_, name);
    if (inode == 0) {
      return fail_errno(ENOENT, "stat", join(path_, name));
    }
    return core_->identity(inode);
  }

  Result<std::unique_ptr<File>> open_file(std::string_view name, OpenMode mode) const override {
    VARVE_TRY(start(CallKind::open, "open", name));
    return open_simulated_file(core_, inode_, std::string(name), mode, join(path_, name));
  }
  Result<std::unique_ptr<Directory>> open_directory(std::string_view name) const override {
    VARVE_TRY(start(CallKind::open, "open", name));
    const auto held = core_->lock();
    const simulated::InodeNumber inode = core_->find(inode_, name);
    if (inode == 0) {
      return fail_errno(ENOENT, "open", join(path_, name));
    }
    if (core_->node(inode).type != FileType::directory) {
      return fail_errno(ENOTDIR, "open", join(path_, name));
    }
    return make_simulated_directory(core_, inode, join(path_, name));
  }

  Result<void> make_directory(std::string_view name, std::uint32_t mode) override {
    VARVE_TRY(start(CallKind::make_directory, "mkdir", name));
    const auto held = core_->lock();
    if (core_->find(inode_, name) != 0) {
      return fail_errno(EEXIST, "mkdir", join(path_, name));
    }
    if (core_->links(inode_) == 0) {
      return fail_errno(ENOENT, "mkdir", join(path_, name));
    }
    core_->set_name(inode_, std::string(name), core_->make_node(FileType::directory, mode));
    return {};
  }

  Result<void> rename(std::string_view from, Directory& to_directory,
                      std::string_view to) override {
    return rename_with(from, to_directory, to, true);
  }
  Result<void> rename_no_replace(std::string_view from, Directory& to_directory,
                                 std::string_view to) override {
    return rename_with(from, to_directory, to, false);
  }

  Result<void> remove_file(std::string_view name) override {
    VARVE_TRY(start(CallKind::remove, "unlink", name));
    const auto held = core_->lock();
    const simulated::InodeNumber inode = core_->find(inode_, name);
    if (inode == 0 || core_->node(inode).type == FileType::directory) {
      return fail_errno(inode == 0 ? ENOENT : EISDIR, "unlink", join(path_, name));
    }
    core_->set_name(inode_, std::string(name), 0);
    return {};
  }
  Result<void> remove_directory(std::string_view name) override {
    VARVE_TRY(start(CallKind::remove, "rmdir", name));
    const auto held = core_->lock();
    const simulated::InodeNumber inode = core_->find(inode_, name);
    const int error = inode == 0                                       ? ENOENT
                      : core_->node(inode).type != FileType::directory ? ENOTDIR
                      : !core_->node(inode).entries.empty()            ? ENOTEMPTY
                                                                       : 0;
    if (error != 0) {
      return fail_errno(error, "rmdir", join(path_, name));
    }
    core_->set_name(inode_, std::string(name), 0);
    return {};
  }

  Result<void> sync() override {
    const auto fault = core_->begin(CallKind::directory_sync, path_);
    const auto held = core_->lock();
    if (fault) {
      core_->lose(inode_);
      return fail_errno(errno_of(*fault), "sync", path_);
    }
    core_->make_durable(inode_);
    return {};
  }

 private:
  Result<void> announce(CallKind kind, const char* call, const std::string& path) const {
    if (const auto fault = core_->begin(kind, path)) {
      return fail_errno(errno_of(*fault), call, path);
    }
    return {};
  }
  Result<void> check_name(std::string_view name) const {
    if (name.empty() || name == "." || name == ".." || name.find('/') != name.npos ||
        name.find('\0') != name.npos) {
      return fail(ErrorCode::invalid_argument, "name", "not a plain file name", join(path_, name));
    }
    return {};
  }
  Result<void> start(CallKind kind, const char* call, std::string_view name) const {
    VARVE_TRY(check_name(name));
    VARVE_TRY(announce(kind, call, join(path_, name)));
    if (name.size() > 255) {
      return fail_errno(ENAMETOOLONG, call, join(path_, name));
    }
    return {};
  }
  Result<void> rename_with(std::string_view from, Directory& to_directory, std::string_view to,
                           bool replace) {
    VARVE_TRY(check_name(to));
    const auto* target = dynamic_cast<SimulatedDirectory*>(&to_directory);
    if (target == nullptr || target->core_ != core_) {
      return fail(ErrorCode::invalid_argument, "rename", "directories of two file systems", path_);
    }
    VARVE_TRY(start(CallKind::rename, "rename", from));
    const auto held = core_->lock();
    const std::string from_name(from);
    const std::string to_name(to);
    const int error =
        core_->links(target->inode_) == 0
            ? ENOENT
            : core_->check_rename(inode_, from_name, target->inode_, to_name, replace);
    if (error != 0) {
      return fail_errno(error, "rename", join(path_, from));
    }
    core_->rename(inode_, from_name, target->inode_, to_name);
    return {};
  }

  std::shared_ptr<Core> core_;
  simulated::InodeNumber inode_;
  std::string path_;
};

}  // namespace

std::unique_ptr<Directory> make_simulated_directory(std::shared_ptr<SimulatedFileSystem::Core> core,
                                                    simulated::InodeNumber inode,
                                                    std::string path) {
  return std::make_unique<SimulatedDirectory>(std::move(core), inode, std::move(path));
}

}  // namespace varve::io
