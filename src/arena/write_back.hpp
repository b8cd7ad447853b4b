// SPDX-License-Identifier: MIT OR Apache-2.0
// Opening a store for writing (section 7 steps 8 and 9, section 7.5): what is to be written back is
// decided first, then written in the one order that is safe: aside, lengths, marker, zeros.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "arena/recovery.hpp"
#include "arena/store_map.hpp"
#include "varve/store.hpp"

namespace varve::arena {

struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t length() const { return end - begin; }
};

struct WriteBackPlan {
  struct Extension {
    std::size_t position = 0;  // in StoreMap::segments
    std::uint64_t from = 0;
    std::uint64_t to = 0;
  };
  TailState tail;  // of the final segment
  std::vector<Extension> extensions;
  std::optional<Range> torn;    // the bytes of a torn frame, to its last non-zero byte
  std::optional<Range> behind;  // other remains behind the end
  // A valid frame stands in `behind` (frames-behind-end), or that could not be found out: the bytes
  // are not touched unless the caller says so.
  bool needs_consent = false;
  std::optional<Proof> frame_behind;

  bool empty() const { return extensions.empty() && !torn && !behind; }
};

// Looks at the final segment of a map without refusal that has at least one segment. Errors are
// those of examine_tail().
Result<WriteBackPlan> plan_write_back(const StoreMap& map, const WalkOptions& options);

// Whether remains that hold valid frames are cleared too.
enum class Consent : std::uint8_t { no, yes };

// What apply_write_back() does, as actions for a report.
std::vector<WriteReport::Action> write_back_actions(const StoreMap& map, const WriteBackPlan& plan,
                                                    Consent consent);

// Saves what will be overwritten into `lost+found` in the store, extends the files, writes the
// marker, clears. Needs the store's lock. Done twice it does nothing the second time.
Result<void> apply_write_back(const StoreMap& map, const WriteBackPlan& plan, Consent consent,
                              io::Environment& environment);

inline constexpr std::string_view k_lost_and_found = "lost+found";

}  // namespace varve::arena
