// SPDX-License-Identifier: MIT OR Apache-2.0
// What compaction and patching share: a segment held against other rewriters, its blocks decoded
// side by side, and the new file that takes its place whole or not at all (section 14.3, step 5).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/publish.hpp"
#include "jss/archive.hpp"
#include "jss/block.hpp"
#include "jss/encode.hpp"
#include "jss/press.hpp"

namespace varve::jss {

// A sealed segment opened with full checks and locked against other rewriters.
struct HeldSegment {
  std::unique_ptr<io::File> lock;  // the same file, holding the lock
  std::shared_ptr<OpenSegment> segment;

  const Header& header() const { return segment->head.header; }
  std::size_t blocks() const { return segment->footer->index->size(); }
};

// Opens a member; with `lock`, takes the lock first. ErrorCode::damaged for what opening refuses,
// ErrorCode::locked if another rewriter has it.
Result<HeldSegment> hold_segment(Archive& archive, std::size_t member, const io::Directory& home,
                                 bool lock);

// The new file under its temporary name. Frames are appended; the footer ends it.
class StagedSegment {
 public:
  // Removes a stale temporary file of that name first. `home` outlives the object.
  static Result<StagedSegment> create(io::Directory& home, const std::string& name);

  // Where the next frame's length prefix goes.
  std::uint64_t end() const { return end_; }
  // A length prefix and its frame.
  Result<void> add(base::ByteSpan prefix_and_frame);
  // Writes footer and header, and puts the file in the place of the old one, durably. Gives its
  // size.
  Result<std::uint64_t> publish(base::ByteSpan footer, const HeaderBytes& header);

 private:
  StagedSegment(std::string name, io::StagedFile staged)
      : name_(std::move(name)), staged_(std::move(staged)) {}
  Result<void> write();

  std::string name_;
  io::StagedFile staged_;
  std::uint64_t written_ = 0;
  std::uint64_t end_ = k_first_frame_offset;
  base::Bytes pending_;
};

// One block on its way from the old file to the new one. The objects are used again.
struct BlockWork {
  std::size_t index = 0;
  IndexEntry entry;   // the old one
  base::Bytes frame;  // the old length prefix and frame
  Block block;        // decoded
  BlockBuilder rows;  // scratch of the transformation
  base::Bytes scratch;
  bool changed = false;  // the new bytes are in `pressed`; else the old ones stay
  PressedBlock pressed;
  BlockSummary summary;  // of the rows that stay, if asked for
};

// Decides about one block, on any thread: sets `changed` and `pressed`, or leaves both alone.
using Transform = std::function<void(BlockWork& work, base::ZstdEncoder& encoder)>;
// Takes the blocks back in order; false stops.
using Collect = std::function<Result<bool>(BlockWork& work)>;

// Reads and decodes the given blocks (ascending), transforms them side by side and collects them in
// order. A block that does not decode, or has another number of rows than the index says, is
// ErrorCode::damaged.
Result<void> each_block(const OpenSegment& segment, const std::vector<std::uint32_t>& blocks,
                        unsigned threads, const Transform& transform, const Collect& collect);

// All blocks of a segment.
std::vector<std::uint32_t> all_blocks(const HeldSegment& held);

}  // namespace varve::jss
