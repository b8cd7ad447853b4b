// SPDX-License-Identifier: MIT OR Apache-2.0
// What a writer remembers of the blocks of a segment, so that sealing need not decode them again:
// index entries, distinct DIDs, and which names occur where (sections 6 to 8).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "jss/block.hpp"
#include "jss/did_table.hpp"
#include "jss/layout.hpp"

namespace varve::jss {

// The summary of one block. Views the columns that it was made from.
class BlockSummary {
 public:
  // Looks at each row. Bounds are those of the rows; zero without rows.
  void summarize(const BlockColumns& columns);

  struct Name {
    std::string_view text;
    std::uint32_t rows = 0;  // stays 0 for sentinels
  };
  // In order of first appearance; a row's collection stands before its sentinel.
  const std::vector<Name>& names() const { return names_; }
  // The distinct DIDs that are not empty.
  const DidTable& dids() const { return dids_; }
  // Offset and sizes are the caller's to fill.
  const IndexEntry& entry() const { return entry_; }

 private:
  void count_name(std::string_view name, std::uint32_t rows);

  IndexEntry entry_;
  DidTable dids_{DidTable::Texts::borrowed};
  std::vector<Name> names_;
  std::unordered_map<std::string_view, std::uint32_t> name_numbers_;
};

class SegmentSummary {
 public:
  // Adds the next block. `entry` has all fields filled; the texts of `block` are copied.
  void add(const BlockSummary& block, const IndexEntry& entry);

  struct Name {
    std::string text;
    std::uint64_t rows = 0;
  };
  const std::vector<IndexEntry>& entries() const { return entries_; }
  const DidTable& dids() const { return dids_; }
  const std::vector<Name>& names() const { return names_; }
  // The numbers of the DIDs, and of the names, that occur in a block.
  const std::vector<std::uint32_t>& block_dids(std::size_t block) const {
    return block_dids_[block];
  }
  const std::vector<std::uint32_t>& block_names(std::size_t block) const {
    return block_names_[block];
  }
  std::uint64_t event_count() const { return event_count_; }
  // Bounds over the blocks that have rows.
  std::uint64_t min_seq() const { return min_seq_; }
  std::uint64_t max_seq() const { return max_seq_; }
  std::int64_t min_witnessed_at() const { return min_witnessed_at_; }
  std::int64_t max_witnessed_at() const { return max_witnessed_at_; }
  void clear() { *this = SegmentSummary(); }

 private:
  std::vector<IndexEntry> entries_;
  DidTable dids_{DidTable::Texts::copied};
  std::vector<Name> names_;
  std::unordered_map<std::string, std::uint32_t> name_numbers_;
  std::vector<std::vector<std::uint32_t>> block_dids_;
  std::vector<std::vector<std::uint32_t>> block_names_;
  std::uint64_t event_count_ = 0;
  std::uint64_t min_seq_ = 0;
  std::uint64_t max_seq_ = 0;
  std::int64_t min_witnessed_at_ = 0;
  std::int64_t max_witnessed_at_ = 0;
};

}  // namespace varve::jss
