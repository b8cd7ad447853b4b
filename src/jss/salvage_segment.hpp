// SPDX-License-Identifier: MIT OR Apache-2.0
// The new file of a salvaged segment: blocks are added in order, the footer is made of what they
// hold.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "jss/encode.hpp"
#include "jss/segment_summary.hpp"
#include "varve/file_system.hpp"

namespace varve::jss {

class SalvagedSegment {
 public:
  // Makes the file, which must not exist. A sealed one gets its footer and header in finish().
  static Result<std::unique_ptr<SalvagedSegment>> create(io::Directory& directory,
                                                         const std::string& name, bool sealed);
  bool sealed() const { return sealed_; }

  // A length prefix and its frame, decoded: `entry` has all but the offset.
  Result<void> add(base::ByteSpan prefix_and_frame, const BlockSummary& rows, IndexEntry entry);
  // In the place of a block that is lost: no rows, the bounds of `entry`. Only of sealed segments;
  // in an active one the reference looks at nothing behind such a block.
  Result<void> add_empty(const IndexEntry& entry);
  // Writes what is left and syncs. `history`: bounds that the header must not be narrower than, or
  // null.
  Result<void> finish(const Envelope* history);

 private:
  SalvagedSegment(std::unique_ptr<io::File> file, bool sealed);
  Result<void> write(std::size_t at_least);

  std::unique_ptr<io::File> file_;
  bool sealed_;
  std::uint64_t written_ = 0;
  std::uint64_t end_ = k_first_frame_offset;
  base::Bytes pending_;
  SegmentSummary summary_;
};

}  // namespace varve::jss
