// SPDX-License-Identifier: MIT OR Apache-2.0
// Loads one world of a file: header, table tree, resolution, data pages in use, journal (sections
// 10 and 15). Verify, cat, state, explain, recovery and the writing open all start here.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "kladde/allocation.hpp"
#include "kladde/policy.hpp"
#include "kladde/record.hpp"
#include "kladde/state.hpp"
#include "kladde/table_walker.hpp"
#include "kladde/walker.hpp"

namespace varve::kladde {

struct LoadRequest {
  Dialect dialect = Dialect::a;
  Generation generation = Generation::newer;
  bool check_data = true;  // read and check every data page in use
  std::uint64_t max_memory_bytes = std::uint64_t{1} << 30;
  unsigned threads = 1;
  // Called now and then with the bytes checked so far; may be null.
  std::function<void(std::uint64_t done)> progress;
};

// A data page that winning Refs use, and the part of it that they reach into.
struct DataUse {
  PageNumber page = 0;
  std::uint16_t first = 0;  // in the page
  std::uint16_t end = 0;
};

// One world without its journal.
struct World {
  std::uint64_t file_bytes = 0;
  std::uint64_t page_count = 0;  // whole pages
  Slots slots;
  unsigned slot = 0;  // the one that was chosen
  Header header;
  TableTree tree;
  Allocations allocations;
  std::vector<DataUse> data_uses;  // ascending, one a page
  PageSet data_pages;              // the same
  PageSet bad_pages;               // of those, the ones that failed a check
  std::uint64_t bytes_checked = 0;

  bool uses(PageNumber page) const {
    return page < k_slot_count || tree.page_set.contains(page) || data_pages.contains(page);
  }
};

// Loads the world of `file`. nullopt only where the policy went on after a fault in the header.
Result<std::optional<World>> load_world(const io::File& file, const LoadRequest& request,
                                        const Policy& policy);

// Dialect B: an allocation whose content is stated and whose size is not, the first. It is empty to
// a reader, and no writer leaves one: most likely the file is of dialect A.
std::optional<Id> find_unsized(const World& world, Dialect dialect);
// Refuses to write (ErrorCode::unsupported) where there is one: what reads as empty would be gone
// with the next flush.
Result<void> check_writable(const World& world, Dialect dialect, const std::string& path);

// What a walk of the journal found.
struct Journal {
  std::uint64_t epoch = 0;  // of the segment
  StopReason stop = StopReason::none;
  Place stop_place;
  bool went_on = false;           // see JournalWalker
  bool tail_is_zero = true;       // what follows the last whole transaction in its page
  std::vector<PageNumber> pages;  // up to the last whole transaction
  std::vector<PageNumber> reached;
  std::uint64_t transactions = 0;
  std::uint64_t records = 0;
  std::array<std::uint64_t, 7> records_by_kind{};  // indexed by tag
  std::uint64_t malformed = 0;                     // transactions
  std::uint64_t stream_bytes = 0;                  // of the whole transactions and their trailers
  // Whether the pointer asks a writer to flush before its first append (section 3.1).
  bool pointer_unusable = false;
};

// Gets each whole, well-formed transaction with its records. Returns false to stop the walk.
using TakeTransaction = std::function<Result<bool>(const JournalTransaction& transaction,
                                                   std::span<const Record> records)>;

// Walks the segment that the world's header names. Complains about malformed transactions, pages in
// use and impossible `next` fields; a torn tail is told in the result, never complained about.
Result<Journal> read_journal(const io::File& file, const World& world, const LoadRequest& request,
                             const Policy& policy, const TakeTransaction& take);

// Replays the journal of a world into `state` (of the world's allocations). `see` gets each record
// before it is applied; may be null.
Result<Journal> replay_journal(const io::File& file, const World& world, const LoadRequest& request,
                               const Policy& policy, State& state,
                               const std::function<void(const Record&)>& see = {});

// Where the governing header is now; nullopt if none is valid. For readers of live stores.
Result<std::optional<std::uint64_t>> governing_epoch(const io::File& file);

}  // namespace varve::kladde
