// SPDX-License-Identifier: MIT OR Apache-2.0
// What a simulated file system remembers of its past: objects, the effects that calls had on them,
// and when each effect became durable. Crash states are made from this (crash.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "io/simulated_content.hpp"
#include "varve/file_system.hpp"

namespace varve::io::simulated {

using InodeNumber = std::uint32_t;  // an index into an Image; 0 stands for "no object"
inline constexpr InodeNumber k_root = 1;

// One object of the file system: a file, a directory, a symbolic link or something else.
struct Node {
  FileType type = FileType::regular;
  std::uint32_t mode = 0600;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;
  Content content;                             // regular files
  std::map<std::string, InodeNumber> entries;  // directories
  InodeNumber parent = k_root;                 // directories: for ".." in paths
  std::string target;                          // symbolic links
};

using Image = std::vector<std::shared_ptr<const Node>>;  // index = inode number

// One thing that a call changed, and that a crash may keep or lose on its own.
enum class EffectKind : std::uint8_t {
  data,    // bytes of a file; tears at sector boundaries
  length,  // the size of a file, growing
  cut,     // the size of a file, shrinking
  punch,   // a range of zeros
  name,    // directory: `name` leads to `target` (0: to nothing)
  rename,  // directory: `name` leads to `target` and `from` to nothing, together
};

struct Effect {
  EffectKind kind = EffectKind::data;
  InodeNumber inode = 0;     // the file or directory changed
  std::uint64_t offset = 0;  // data, punch: where; length, cut: the new size
  std::uint64_t length = 0;  // data, punch
  std::shared_ptr<const std::vector<std::byte>> bytes;  // data
  std::string name;
  std::string from;
  InodeNumber target = 0;
  std::int64_t time_ns = 0;
  std::uint32_t call = 0;  // ordinal of the call that had this effect
  // Index of an effect without which this one does not reach the disk: a file moved to another
  // directory never loses both of its names. k_nothing if there is none.
  std::uint32_t needs = UINT32_MAX;
};
inline constexpr std::uint32_t k_nothing = UINT32_MAX;

// What happened, in order.
struct Event {
  enum class Kind : std::uint8_t {
    issued,   // effects [first, last) were added
    durable,  // the listed effects are on the disk
    lost,     // a sync failed: the listed effects will never be made durable by a later sync
    mark,     // the test noted `value` in `slot`
  };
  Kind kind = Kind::issued;
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::vector<std::uint32_t> effects;
  std::uint32_t slot = 0;  // of the mark
  std::uint64_t value = 0;
};
inline constexpr std::size_t k_mark_slots = 4;

struct Recording {
  // Objects as they were when recording began; those made later stand behind, empty.
  Image baseline;
  std::vector<Effect> effects;
  std::vector<Event> events;
};

// Applies one effect to the node it concerns.
void apply(Node& node, const Effect& effect);
// Applies the sectors [first_sector, last_sector) of a data effect, counted from the sector that
// holds its first byte.
void apply_sectors(Node& node, const Effect& effect, std::uint64_t first_sector,
                   std::uint64_t last_sector);
// How many sectors a data effect touches; 1 for the other kinds.
std::uint64_t sector_count(const Effect& effect);

// Of everything about a node but its identity and times: type, mode, bytes, names and the numbers
// that they lead to.
std::uint64_t hash_node(const Node& node);
// Of what can be reached from the root; which number an object has does not count.
std::uint64_t hash_tree(const Image& image);

}  // namespace varve::io::simulated
