// SPDX-License-Identifier: MIT OR Apache-2.0
// The simulated file system's own calls.
#include "io/simulated.hpp"

#include <cerrno>

#include "io/simulated_core.hpp"

namespace varve::io {

namespace {

int errno_of(FaultKind kind) { return kind == FaultKind::io_error ? EIO : ENOSPC; }

}  // namespace

std::string_view to_text(CallKind kind) {
  static constexpr std::string_view k_names[] = {
      "open",           "identity", "list",     "read",           "seek",
      "write",          "truncate", "allocate", "punch",          "sync",
      "make_directory", "rename",   "remove",   "directory_sync", "lock"};
  return k_names[static_cast<std::size_t>(kind)];
}

std::string_view to_text(FaultKind kind) {
  static constexpr std::string_view k_names[] = {"io_error", "no_space", "short_write"};
  return k_names[static_cast<std::size_t>(kind)];
}

SimulatedFileSystem::SimulatedFileSystem() : SimulatedFileSystem(Options{}) {}
SimulatedFileSystem::SimulatedFileSystem(const Options& options)
    : SimulatedFileSystem(simulated::Image{}, options) {}
SimulatedFileSystem::SimulatedFileSystem(const simulated::Image& image, const Options& options)
    : core_(std::make_shared<Core>(image, options)) {}
SimulatedFileSystem::~SimulatedFileSystem() = default;

Result<FileIdentity> SimulatedFileSystem::identity_of(const std::string& path) {
  if (const auto fault = core_->begin(CallKind::identity, path)) {
    return fail_errno(errno_of(*fault), "stat", path);
  }
  const auto held = core_->lock();
  const auto inode = core_->resolve(path);
  if (!inode) {
    return fail_errno(inode.error(), "stat", path);
  }
  return core_->identity(*inode);
}

Result<std::unique_ptr<Directory>> SimulatedFileSystem::open_directory(const std::string& path) {
  if (const auto fault = core_->begin(CallKind::open, path)) {
    return fail_errno(errno_of(*fault), "open", path);
  }
  const auto held = core_->lock();
  const auto inode = core_->resolve(path);
  if (!inode) {
    return fail_errno(inode.error(), "open", path);
  }
  if (core_->node(*inode).type != FileType::directory) {
    return fail_errno(ENOTDIR, "open", path);
  }
  return make_simulated_directory(core_, *inode, path);
}

Result<std::unique_ptr<File>> SimulatedFileSystem::open_file(const std::string& path,
                                                             OpenMode mode) {
  if (const auto fault = core_->begin(CallKind::open, path)) {
    return fail_errno(errno_of(*fault), "open", path);
  }
  if (path.find('\0') != std::string::npos) {
    return fail(ErrorCode::invalid_argument, "path", "a path with a NUL byte in it", path);
  }
  std::string name;
  simulated::InodeNumber directory = 0;
  {
    const auto held = core_->lock();
    auto parent = core_->resolve_parent(path, name);
    if (!parent && parent.error() == EINVAL) {  // "/", "." or "..": a directory
      return fail(ErrorCode::invalid_argument, "file_type", "not a regular file", path);
    }
    if (!parent) {
      return fail_errno(parent.error(), "open", path);
    }
    directory = *parent;
    const simulated::InodeNumber named = core_->find(directory, name);
    if (named != 0 && core_->node(named).type == FileType::symlink &&
        mode != OpenMode::create_exclusive) {
      const auto target = core_->resolve(path);
      if (!target) {
        return fail_errno(target.error(), "open", path);
      }
      if (core_->node(*target).type != FileType::regular) {
        return fail(ErrorCode::invalid_argument, "file_type", "not a regular file", path);
      }
      return make_simulated_file(core_, *target, path, mode != OpenMode::read);
    }
  }
  return open_simulated_file(core_, directory, name, mode, path);
}

Result<std::unique_ptr<Directory>> SimulatedFileSystem::make_directories(const std::string& path) {
  auto existing = open_directory(path);
  if (existing || existing.error().system_errno != ENOENT) {
    return existing;
  }
  const SplitPath split = split_path(path);
  if (split.name.empty()) {
    return existing;
  }
  VARVE_ASSIGN(auto parent, make_directories(split.parent));
  if (split.name == "." || split.name == "..") {
    return open_directory(path);
  }
  auto made = parent->make_directory(split.name, 0700);
  if (!made && made.error().system_errno != EEXIST) {
    return std::unexpected(std::move(made).error());
  }
  VARVE_TRY(parent->sync());
  return open_directory(path);
}

std::uint64_t SimulatedFileSystem::hash() const {
  const auto held = core_->lock();
  return simulated::hash_tree(core_->image());
}

void SimulatedFileSystem::settle() {
  const auto held = core_->lock();
  core_->settle();
}

void SimulatedFileSystem::mark(std::uint64_t value, std::uint32_t slot) {
  const auto held = core_->lock();
  core_->mark(value, slot);
}

simulated::Recording SimulatedFileSystem::recording() const {
  const auto held = core_->lock();
  return core_->recording();
}

simulated::Image SimulatedFileSystem::image() const {
  const auto held = core_->lock();
  return core_->image();
}

void SimulatedFileSystem::set_fault(std::optional<Fault> fault) {
  const auto held = core_->lock();
  core_->set_fault(fault);
}

std::uint64_t SimulatedFileSystem::faults_met() const {
  const auto held = core_->lock();
  return core_->faults_met();
}

void SimulatedFileSystem::set_trace(bool on) {
  const auto held = core_->lock();
  core_->set_trace(on);
}

std::vector<Call> SimulatedFileSystem::trace() const {
  const auto held = core_->lock();
  return core_->trace();
}

void SimulatedFileSystem::set_hook(std::function<void(const Call&)> hook) {
  const auto held = core_->lock();
  core_->set_hook(std::move(hook));
}

}  // namespace varve::io
