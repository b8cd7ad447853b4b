// SPDX-License-Identifier: MIT OR Apache-2.0
// From a decoded block to a batch: the block's own columns where all rows are wanted, gathered ones
// where a filter or the reverse order chooses.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "jss/block.hpp"
#include "jss/log_schema.hpp"
#include "jss/select.hpp"
#include "varve/batch.hpp"

namespace varve::jss {

// The memory behind one batch, to be used again when nobody holds the batch any more.
struct BatchMemory {
  // A text or bytes column of its own.
  struct Strings {
    std::vector<std::uint32_t> offsets;
    std::string data;
    std::vector<std::uint8_t> validity;
  };
  Block block;
  std::shared_ptr<const Dictionary> segment_label;
  std::vector<std::uint32_t> selection;  // rows that a filter lets through
  std::vector<std::uint64_t> seq;
  std::vector<std::int64_t> witnessed_at;
  std::vector<std::int64_t> indexed_at;
  std::vector<std::uint8_t> kind;
  std::vector<std::uint32_t> at_block;
  std::vector<std::uint32_t> at_row;
  std::array<Strings, k_log_columns> strings;
};

// Hands out memory that comes back when the last holder lets go. Thread-safe; outlives itself as
// long as memory is out.
class BatchPool {
 public:
  std::shared_ptr<BatchMemory> take();

 private:
  struct Shelf {
    std::mutex mutex;
    std::vector<std::unique_ptr<BatchMemory>> idle;
  };
  std::shared_ptr<Shelf> shelf_ = std::make_shared<Shelf>();
};

// Puts the rows of memory.block that the query wants into memory.selection, in order. False (and
// the selection is left alone) if it wants them all.
bool select_rows(const RowQuery& query, BatchMemory& memory);

struct BatchRequest {
  const Projection* projection = nullptr;
  std::uint32_t block = 0;  // the block's ordinal: `at.block`
  bool selected = false;    // only memory.selection; else all rows
  bool reverse = false;
};

// The batch of memory.block, which it owns.
Batch make_batch(std::shared_ptr<BatchMemory> memory, const BatchRequest& request);

}  // namespace varve::jss
