// SPDX-License-Identifier: MIT OR Apache-2.0
// Rewriting sealed jss segments: compaction (spec section 14.3) and the patching of indexed_at
// (section 14.4). Both leave a segment as it is or put a whole new one in its place; a crash leaves
// one of the two, and perhaps a "<segment>.tmp" that the next writer removes.
//
// A segment that is being rewritten is locked against other rewriters. Readers need no lock: one
// that holds the old file open keeps reading the old generation.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "varve/file_system.hpp"
#include "varve/result.hpp"

namespace varve::jss {

struct CompactionOptions {
  unsigned threads = 0;  // 0: all cores
  // Fold only tombstones above this seq: what the last pass returned. Absent: what the archive's
  // own note of the last pass says, 0 if it has none.
  std::optional<std::uint64_t> watermark = {};
  // Tombstones held in memory at a time, some 200 bytes each. A pass that has more works in chunks
  // that end with a segment.
  std::uint64_t max_tombstones = std::uint64_t{4} << 20;
  bool dry_run = false;  // only find out what would change
};

struct RewrittenSegment {
  std::string name;  // relative to the store
  std::uint64_t blocks_changed = 0;
  std::uint64_t blocks_emptied = 0;  // of those
  std::uint64_t rows_dropped = 0;
  std::uint64_t bytes_before = 0;
  std::uint64_t bytes_after = 0;  // 0 in a rehearsal
};

struct CompactionReport {
  std::uint64_t watermark_before = 0;
  std::uint64_t watermark = 0;  // everything up to this seq has been folded
  std::uint64_t tombstones = 0;
  std::uint64_t segments_examined = 0;
  std::vector<RewrittenSegment> rewritten;  // in order; a segment may appear once a chunk
};

// One pass over the sealed segments of an archive (or over a store of one sealed file). The active
// segment is not looked at: seal it before to have its rows take part. When all segments are done
// the watermark is noted in the archive, in "varve-compaction.json".
//
// Errors: damaged if a segment does not open with full checks, a block does not decode, or the
// segments do not ascend (nothing is rewritten from there on); locked if another rewriter is at
// work.
Result<CompactionReport> compact(io::FileSystem& files, const std::string& path,
                                 const CompactionOptions& options = {});

struct IndexedAtPatch {
  std::uint64_t seq = 0;
  std::int64_t indexed_at = 0;  // microseconds since 1970; 0: not set
};

struct PatchReport {
  std::uint64_t rows_changed = 0;
  std::uint64_t rows_equal = 0;    // had the value already
  std::uint64_t rows_missing = 0;  // no sealed segment has a row of that seq
  std::vector<RewrittenSegment> rewritten;
};

// Sets indexed_at of the rows with these seqs, which ascend (else invalid_argument). Nothing else
// changes: blocks without a changed row keep their bytes, the sections behind the block index too.
// Rows of the active segment count as missing. Errors as of compact().
Result<PatchReport> patch_indexed_at(io::FileSystem& files, const std::string& path,
                                     std::span<const IndexedAtPatch> patches, unsigned threads = 0);

}  // namespace varve::jss
