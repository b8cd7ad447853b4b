// SPDX-License-Identifier: MIT OR Apache-2.0
// What tests use to set a simulated file system up and to look at it.
#include <algorithm>
#include <cerrno>

#include "io/simulated_core.hpp"

namespace varve::io {

namespace {

using Core = SimulatedFileSystem::Core;

constexpr std::size_t k_copy_piece_bytes = std::size_t{256} << 10;

// Makes `path` lead to a new object of that type; takes the place of what is there.
Result<simulated::InodeNumber> place(SimulatedFileSystem& files, Core& core,
                                     const std::string& path, FileType type, std::uint32_t mode) {
  VARVE_TRY(files.add_directory(split_path(path).parent));
  const auto held = core.lock();
  std::string name;
  const auto parent = core.resolve_parent(path, name);
  if (!parent) {
    return fail_errno(parent.error(), "put", path);
  }
  const simulated::InodeNumber inode = core.make_node(type, mode);
  core.set_name(*parent, name, inode);
  return inode;
}

void collect(const Core& core, simulated::InodeNumber directory, const std::string& prefix,
             std::vector<std::string>& out) {
  for (const auto& [name, inode] : core.node(directory).entries) {
    const bool is_directory = core.node(inode).type == FileType::directory;
    const std::string path = prefix + name + (is_directory ? "/" : "");
    out.push_back(path);
    if (is_directory) {
      collect(core, inode, path, out);  // not out.back(), which moves as the list grows
    }
  }
}

Result<void> copy_file(File& from, SimulatedFileSystem& files, const std::string& to) {
  VARVE_ASSIGN(const FileIdentity info, from.identity());
  std::vector<std::byte> bytes;
  while (bytes.size() < info.size_bytes) {
    const std::size_t at = bytes.size();
    bytes.resize(std::min<std::uint64_t>(info.size_bytes, at + k_copy_piece_bytes));
    VARVE_ASSIGN(const std::size_t count, from.read_at(std::span(bytes).subspan(at), at));
    if (count == 0) {
      bytes.resize(at);
      break;
    }
    bytes.resize(at + count);
  }
  return files.put(to, bytes);
}

Result<void> copy_directory(Directory& from, SimulatedFileSystem& files, const std::string& to) {
  VARVE_TRY(files.add_directory(to));
  VARVE_ASSIGN(const auto entries, from.list());
  for (const DirectoryEntry& entry : entries) {
    const std::string target = to + "/" + entry.name;
    if (entry.identity.type == FileType::directory) {
      VARVE_ASSIGN(const auto below, from.open_directory(entry.name));
      VARVE_TRY(copy_directory(*below, files, target));
    } else if (entry.identity.type == FileType::regular) {
      VARVE_ASSIGN(const auto file, from.open_file(entry.name, OpenMode::read));
      VARVE_TRY(copy_file(*file, files, target));
    }
  }
  return {};
}

}  // namespace

Result<void> SimulatedFileSystem::put(const std::string& path, std::span<const std::byte> bytes) {
  const Core::Bystander bystander;
  {
    const auto held = core_->lock();
    const auto present = core_->resolve(path);
    if (present && core_->node(*present).type == FileType::regular) {
      core_->resize(*present, 0);
      core_->write(*present, bytes, 0);
      return {};
    }
  }
  VARVE_ASSIGN(const auto inode, place(*this, *core_, path, FileType::regular, 0644));
  const auto held = core_->lock();
  core_->write(inode, bytes, 0);
  return {};
}

Result<std::vector<std::byte>> SimulatedFileSystem::get(const std::string& path) {
  const Core::Bystander bystander;
  const auto held = core_->lock();
  const auto inode = core_->resolve(path);
  if (!inode) {
    return fail_errno(inode.error(), "get", path);
  }
  const simulated::Content& content = core_->node(*inode).content;
  std::vector<std::byte> out(static_cast<std::size_t>(content.size()));
  content.read(out, 0);
  return out;
}

Result<void> SimulatedFileSystem::add_directory(const std::string& path) {
  const Core::Bystander bystander;
  {
    const auto held = core_->lock();
    const auto present = core_->resolve(path);
    if (present) {
      if (core_->node(*present).type == FileType::directory) {
        return {};
      }
      return fail_errno(ENOTDIR, "mkdir", path);
    }
    if (present.error() != ENOENT) {
      return fail_errno(present.error(), "mkdir", path);
    }
  }
  VARVE_TRY(place(*this, *core_, path, FileType::directory, 0755));
  return {};
}

Result<void> SimulatedFileSystem::add_symlink(const std::string& path, const std::string& target) {
  const Core::Bystander bystander;
  VARVE_ASSIGN(const auto inode, place(*this, *core_, path, FileType::symlink, 0777));
  const auto held = core_->lock();
  core_->set_symlink_target(inode, target);
  return {};
}

Result<void> SimulatedFileSystem::add_hard_link(const std::string& path,
                                                const std::string& existing) {
  const Core::Bystander bystander;
  VARVE_TRY(add_directory(split_path(path).parent));
  const auto held = core_->lock();
  const auto inode = core_->resolve(existing, false);
  std::string name;
  const auto parent = core_->resolve_parent(path, name);
  if (!inode || !parent) {
    return fail_errno(inode ? parent.error() : inode.error(), "link", path);
  }
  if (core_->node(*inode).type == FileType::directory) {
    return fail_errno(EPERM, "link", path);
  }
  core_->set_name(*parent, name, *inode);
  return {};
}

Result<void> SimulatedFileSystem::add_other(const std::string& path) {
  const Core::Bystander bystander;
  VARVE_TRY(place(*this, *core_, path, FileType::other, 0644));
  return {};
}

Result<void> SimulatedFileSystem::set_mode(const std::string& path, std::uint32_t mode) {
  const auto held = core_->lock();
  const auto inode = core_->resolve(path);
  if (!inode) {
    return fail_errno(inode.error(), "chmod", path);
  }
  core_->set_mode(*inode, mode);
  return {};
}

Result<void> SimulatedFileSystem::set_size(const std::string& path, std::uint64_t size_bytes) {
  const Core::Bystander bystander;
  const auto held = core_->lock();
  const auto inode = core_->resolve(path);
  if (!inode) {
    return fail_errno(inode.error(), "truncate", path);
  }
  core_->resize(*inode, size_bytes);
  return {};
}

Result<void> SimulatedFileSystem::erase(const std::string& path) {
  const Core::Bystander bystander;
  const auto held = core_->lock();
  std::string name;
  const auto parent = core_->resolve_parent(path, name);
  if (!parent || core_->find(*parent, name) == 0) {
    return fail_errno(parent ? ENOENT : parent.error(), "erase", path);
  }
  core_->set_name(*parent, name, 0);
  return {};
}

Result<void> SimulatedFileSystem::copy_from(FileSystem& other, const std::string& from,
                                            const std::string& to) {
  const Core::Bystander bystander;
  VARVE_ASSIGN(const FileIdentity info, other.identity_of(from));
  if (info.type == FileType::directory) {
    VARVE_ASSIGN(const auto directory, other.open_directory(from));
    return copy_directory(*directory, *this, to);
  }
  VARVE_ASSIGN(const auto file, other.open_file(from, OpenMode::read));
  return copy_file(*file, *this, to);
}

std::vector<std::string> SimulatedFileSystem::paths(const std::string& path) {
  const auto held = core_->lock();
  std::vector<std::string> out;
  const auto inode = core_->resolve(path);
  if (inode && core_->node(*inode).type == FileType::directory) {
    collect(*core_, *inode, "", out);
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace varve::io
