// SPDX-License-Identifier: MIT OR Apache-2.0
// Deep verification (section 11): every decoded block against the footer, and the totals of a
// segment. Blocks are checked side by side; their results are added in order.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "jss/archive.hpp"
#include "jss/block_reader.hpp"
#include "jss/did_set.hpp"

namespace varve::jss {

// What one block says of itself.
struct BlockCheck {
  std::vector<Finding> findings;  // of the block alone
  std::uint64_t offset = 0, length = 0;
  std::uint32_t rows = 0;
  std::uint64_t first_seq = 0, last_seq = 0;  // of the first and last row
  std::uint64_t min_seq = 0, max_seq = 0;
  std::int64_t min_time = 0, max_time = 0;
  std::vector<BloomKey> dids;  // the distinct ones that are not empty
  struct NameCount {
    std::uint32_t id = 0;
    std::uint32_t rows = 0;  // of the collection; 0 for a sentinel
  };
  std::vector<NameCount> names;  // that occur in the block
  bool bloom_parameters_known = false;
  BloomParameters bloom_parameters;
};

class DeepVerifier {
 public:
  // `segment` must outlive the verifier.
  DeepVerifier(const OpenSegment& segment, std::uint64_t max_memory_bytes);

  // A worker's memory.
  struct Scratch {
    DidSet dids;
    std::vector<std::uint32_t> did_rows;  // where each of them stands first
    base::Bytes blob;
    std::vector<std::uint32_t> counts;  // by id, zero between blocks
    base::Bytes mask;
  };

  // Checks a decoded block; `reader` holds its frame. Thread-safe.
  Result<BlockCheck> check(const FrameRef& frame, std::uint32_t index, const Block& block,
                           base::ByteSpan frame_bytes, Scratch& scratch) const;
  // Adds a block's result, in order of the blocks.
  void add(std::uint32_t index, const BlockCheck& check, FindingSink& findings);
  // A block that could not be checked: the totals cannot be compared then.
  void miss() { complete_ = false; }
  // Compares the totals.
  void finish(FindingSink& findings);

  std::uint64_t rows() const { return rows_; }
  bool has_rows() const { return rows_ != 0; }
  std::uint64_t min_seq() const { return min_seq_; }
  std::uint64_t max_seq() const { return max_seq_; }

 private:
  struct Context;  // of one block
  void check_bounds(Context& c) const;
  void check_order(Context& c) const;
  void check_names(Context& c, Scratch& scratch) const;
  void check_mask(Context& c, Scratch& scratch) const;
  Result<void> check_dids(Context& c, Scratch& scratch) const;
  Result<void> check_frame(Context& c, base::ByteSpan frame) const;

  void finish_totals(FindingSink& findings);
  void finish_names(FindingSink& findings);
  void finish_strict(FindingSink& findings);
  Finding mismatch(std::uint64_t offset, std::uint64_t length, const char* unit,
                   std::string message, std::uint64_t expected, std::uint64_t actual) const;

  const OpenSegment& segment_;
  const bool deep_;  // there is a trusted footer to compare with
  std::uint64_t max_memory_bytes_;
  std::unordered_map<std::string_view, std::uint32_t> ids_;  // the first id of each name
  std::array<std::optional<std::uint32_t>, 8> sentinel_ids_;

  bool complete_ = true;
  bool dids_complete_ = true;
  std::uint64_t rows_ = 0;
  std::uint64_t min_seq_ = 0, max_seq_ = 0;
  std::int64_t min_time_ = 0, max_time_ = 0;
  std::uint64_t last_seq_ = 0;
  DidSet dids_;
  std::uint64_t most_dids_ = 0;  // in one block
  std::vector<std::uint64_t> name_rows_;
  std::vector<bool> name_occurs_;
};

// A warning or note that the verifier adds to what the reference checks.
Finding strict_finding(Severity severity, const char* code, const std::string& file,
                       std::uint64_t offset, std::uint64_t length, const char* unit,
                       std::string message, std::uint64_t expected, std::uint64_t actual);

}  // namespace varve::jss
