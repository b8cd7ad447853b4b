// SPDX-License-Identifier: MIT OR Apache-2.0
// Paths, names and renames of the simulated file system.
#include <cerrno>

#include "io/simulated_core.hpp"

namespace varve::io {

using simulated::Effect;
using simulated::EffectKind;
using simulated::Node;

namespace {

constexpr int k_link_limit = 40;  // as Linux

}  // namespace

FileIdentity SimulatedFileSystem::Core::identity(InodeNumber inode) const {
  const Node& object = node(inode);
  FileIdentity out;
  out.device = 1;
  out.inode = inode;
  out.links = nodes_[inode].links;
  out.type = object.type;
  out.mode = object.mode;
  out.modified_ns = object.modified_ns;
  out.changed_ns = object.changed_ns;
  switch (object.type) {
    case FileType::regular:
      out.size_bytes = object.content.size();
      out.allocated_bytes = object.content.allocated_bytes();
      break;
    case FileType::directory:
      out.size_bytes = out.allocated_bytes = simulated::k_page_bytes;
      break;
    case FileType::symlink:
      out.size_bytes = object.target.size();
      break;
    case FileType::other:
      break;
  }
  return out;
}

simulated::InodeNumber SimulatedFileSystem::Core::find(InodeNumber directory,
                                                       std::string_view name) const {
  const auto& entries = node(directory).entries;
  const auto found = entries.find(std::string(name));
  return found == entries.end() ? 0 : found->second;
}

std::expected<simulated::InodeNumber, int> SimulatedFileSystem::Core::resolve(
    const std::string& path, bool follow_last) const {
  if (path.empty()) {
    return std::unexpected(ENOENT);
  }
  std::string rest = path;
  InodeNumber at = simulated::k_root;
  int links_left = k_link_limit;
  while (!rest.empty()) {
    const std::size_t slash = rest.find('/');
    const std::string component = rest.substr(0, slash);
    rest = slash == std::string::npos ? "" : rest.substr(slash + 1);
    if (node(at).type != FileType::directory) {
      return std::unexpected(ENOTDIR);
    }
    if (component.empty() || component == ".") {
      continue;
    }
    if (component == "..") {
      at = node(at).parent;
      continue;
    }
    const InodeNumber next = find(at, component);
    if (next == 0) {
      return std::unexpected(ENOENT);
    }
    if (node(next).type == FileType::symlink && (follow_last || slash != std::string::npos)) {
      if (--links_left < 0) {
        return std::unexpected(ELOOP);
      }
      const std::string& target = node(next).target;
      at = target.starts_with('/') ? simulated::k_root : at;
      rest = slash == std::string::npos ? target : target + "/" + rest;
      continue;
    }
    at = next;
    if (slash != std::string::npos && node(at).type != FileType::directory) {
      return std::unexpected(ENOTDIR);
    }
  }
  return at;
}

std::expected<simulated::InodeNumber, int> SimulatedFileSystem::Core::resolve_parent(
    const std::string& path, std::string& name) const {
  const SplitPath split = split_path(path);
  if (split.name.empty() || split.name == "/" || split.name == "." || split.name == "..") {
    return std::unexpected(EINVAL);
  }
  name = split.name;
  const auto parent = resolve(split.parent);
  if (parent && node(*parent).type != FileType::directory) {
    return std::unexpected(ENOTDIR);
  }
  return parent;
}

void SimulatedFileSystem::Core::set_name(InodeNumber directory, const std::string& name,
                                         InodeNumber target) {
  const InodeNumber before = find(directory, name);
  Effect effect;
  effect.kind = EffectKind::name;
  effect.inode = directory;
  effect.name = name;
  effect.target = target;
  issue(std::move(effect));
  const auto count = [&](InodeNumber inode, int step) {
    if (inode == 0) {
      return;
    }
    if (node(inode).type == FileType::directory) {
      nodes_[directory].links += static_cast<std::uint32_t>(step);
      nodes_[inode].links = step > 0 ? 2 : 0;
    } else {
      nodes_[inode].links += static_cast<std::uint32_t>(step);
    }
  };
  count(before, -1);
  count(target, 1);
  if (target != 0 && node(target).type == FileType::directory) {
    change(target).parent = directory;
  }
}

int SimulatedFileSystem::Core::check_rename(InodeNumber from_directory, const std::string& from,
                                            InodeNumber to_directory, const std::string& to,
                                            bool replace) const {
  const InodeNumber moved = find(from_directory, from);
  if (moved == 0) {
    return ENOENT;
  }
  const InodeNumber present = find(to_directory, to);
  if (present != 0 && !replace) {
    return EEXIST;
  }
  const bool moves_directory = node(moved).type == FileType::directory;
  if (moves_directory) {
    for (InodeNumber at = to_directory;; at = node(at).parent) {
      if (at == moved) {
        return EINVAL;  // into itself
      }
      if (at == simulated::k_root) {
        break;
      }
    }
  }
  if (present == 0 || present == moved) {
    return 0;
  }
  const bool onto_directory = node(present).type == FileType::directory;
  if (moves_directory != onto_directory) {
    return moves_directory ? ENOTDIR : EISDIR;
  }
  return onto_directory && !node(present).entries.empty() ? ENOTEMPTY : 0;
}

void SimulatedFileSystem::Core::rename(InodeNumber from_directory, const std::string& from,
                                       InodeNumber to_directory, const std::string& to) {
  const InodeNumber moved = find(from_directory, from);
  const InodeNumber replaced = find(to_directory, to);
  if (moved == replaced) {
    return;  // two names of one object: nothing happens
  }
  if (from_directory != to_directory) {
    const auto arrival = static_cast<std::uint32_t>(recording_.effects.size());
    set_name(to_directory, to, moved);
    set_name(from_directory, from, 0);
    if (node(moved).type == FileType::directory) {
      nodes_[moved].links = 2;  // taking the old name away looked like a removal
    }
    if (record_) {
      recording_.effects.back().needs = arrival;
    }
    return;
  }
  Effect effect;
  effect.kind = EffectKind::rename;
  effect.inode = from_directory;
  effect.name = to;
  effect.from = from;
  effect.target = moved;
  issue(std::move(effect));
  if (replaced != 0) {
    if (node(replaced).type == FileType::directory) {
      --nodes_[from_directory].links;
      nodes_[replaced].links = 0;
    } else {
      --nodes_[replaced].links;
    }
  }
}

}  // namespace varve::io
