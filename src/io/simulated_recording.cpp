// SPDX-License-Identifier: MIT OR Apache-2.0
#include "io/simulated_recording.hpp"

#include <algorithm>

#include "base/checksum.hpp"

namespace varve::io::simulated {

std::uint64_t sector_count(const Effect& effect) {
  if (effect.kind != EffectKind::data || effect.length == 0) {
    return 1;
  }
  return (effect.offset + effect.length - 1) / k_sector_bytes - effect.offset / k_sector_bytes + 1;
}

void apply_sectors(Node& node, const Effect& effect, std::uint64_t first_sector,
                   std::uint64_t last_sector) {
  const std::uint64_t base = effect.offset / k_sector_bytes * k_sector_bytes;
  const std::uint64_t begin = std::max(effect.offset, base + first_sector * k_sector_bytes);
  const std::uint64_t end =
      std::min(effect.offset + effect.length, base + last_sector * k_sector_bytes);
  if (begin >= end) {
    return;
  }
  node.content.write(std::span(*effect.bytes)
                         .subspan(static_cast<std::size_t>(begin - effect.offset),
                                  static_cast<std::size_t>(end - begin)),
                     begin);
  node.modified_ns = node.changed_ns = effect.time_ns;
}

void apply(Node& node, const Effect& effect) {
  switch (effect.kind) {
    case EffectKind::data:
      node.content.write(*effect.bytes, effect.offset);
      break;
    case EffectKind::length:
      node.content.set_size(effect.offset);
      break;
    case EffectKind::cut:
      node.content.cut(effect.offset);
      break;
    case EffectKind::punch:
      node.content.punch(effect.offset, effect.length);
      break;
    case EffectKind::rename:
      node.entries.erase(effect.from);
      node.entries[effect.name] = effect.target;
      break;
    case EffectKind::name:
      if (effect.target == 0) {
        node.entries.erase(effect.name);
      } else {
        node.entries[effect.name] = effect.target;
      }
      break;
  }
  node.modified_ns = node.changed_ns = effect.time_ns;
}

namespace {

void add(base::Xxh3Stream& stream, std::uint64_t value) {
  stream.update(std::as_bytes(std::span(&value, 1)));
}

// Of type, mode and bytes: all but the names of a directory.
std::uint64_t hash_self(const Node& node) {
  base::Xxh3Stream stream;
  add(stream, static_cast<std::uint64_t>(node.type));
  add(stream, node.mode);
  add(stream, node.type == FileType::regular ? node.content.hash() : 0);
  stream.update(std::as_bytes(std::span(node.target)));
  return stream.digest();
}

std::uint64_t hash_below(const Image& image, InodeNumber inode) {
  const Node& node = *image[inode];
  base::Xxh3Stream stream;
  add(stream, hash_self(node));
  for (const auto& [name, target] : node.entries) {
    add(stream, name.size());
    stream.update(std::as_bytes(std::span(name)));
    add(stream, hash_below(image, target));
  }
  return stream.digest();
}

}  // namespace

std::uint64_t hash_node(const Node& node) {
  base::Xxh3Stream stream;
  add(stream, hash_self(node));
  for (const auto& [name, target] : node.entries) {
    add(stream, name.size());
    stream.update(std::as_bytes(std::span(name)));
    add(stream, target);
  }
  return stream.digest();
}

std::uint64_t hash_tree(const Image& image) { return hash_below(image, k_root); }

}  // namespace varve::io::simulated
