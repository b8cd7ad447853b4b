// SPDX-License-Identifier: MIT OR Apache-2.0
// Enumerates the crash states of a recording within the bound, each distinct one once.
#include "io/crash.hpp"

#include <algorithm>
#include <limits>
#include <random>
#include <unordered_set>

#include "base/checksum.hpp"
#include "io/crash_tracker.hpp"

namespace varve::io {

using simulated::Event;

namespace {

constexpr std::size_t k_most_tears_of_a_kind = 32;  // positions tried in one large write

// n over k, as far as 64 bits go; for k to a handful.
std::uint64_t choose(std::uint64_t n, unsigned k) {
  if (k > n) {
    return 0;
  }
  std::uint64_t out = 1;
  for (unsigned i = 0; i < k; ++i) {
    const std::uint64_t factor = n - i;
    if (out > std::numeric_limits<std::uint64_t>::max() / factor) {
      return std::numeric_limits<std::uint64_t>::max();
    }
    out = out * factor / (i + 1);
  }
  return out;
}

std::uint64_t add_capped(std::uint64_t a, std::uint64_t b) {
  return a > std::numeric_limits<std::uint64_t>::max() - b
             ? std::numeric_limits<std::uint64_t>::max()
             : a + b;
}

std::uint64_t multiply_capped(std::uint64_t a, std::uint64_t b) {
  return a != 0 && b > std::numeric_limits<std::uint64_t>::max() / a
             ? std::numeric_limits<std::uint64_t>::max()
             : a * b;
}

class Enumerator {
 public:
  Enumerator(const simulated::Recording& recording, const CrashOptions& options,
             const std::function<bool(const CrashState&)>& visit)
      : recording_(recording),
        options_(options),
        visit_(visit),
        tracker_(recording),
        random_(options.seed) {}

  CrashReport run() {
    plan();
    while (!report_.stopped) {
      if (is_point()) {
        visit_point();
      }
      if (tracker_.at_end()) {
        break;
      }
      tracker_.step();
    }
    return report_;
  }

 private:
  using Set = std::vector<CrashChoice>;

  // The state is looked at right before it changes, when what was promised of it is strongest.
  bool is_point() const {
    return tracker_.at_end() ||
           (!options_.only_last_point && tracker_.next_event().kind != Event::Kind::mark);
  }

  // Finds how many candidates a point may have so that all together keep to max_candidates.
  void plan() {
    CrashTracker tracker(recording_);
    std::vector<std::uint64_t> totals;
    for (;; tracker.step()) {
      if (tracker.at_end() ||
          (!options_.only_last_point && tracker.next_event().kind != Event::Kind::mark)) {
        totals.push_back(count(tracker.open().size(), tears_of(tracker.open()).size()));
      }
      if (tracker.at_end()) {
        break;
      }
    }
    std::uint64_t low = 1;
    std::uint64_t high = options_.max_candidates;
    while (low < high) {
      const std::uint64_t cap = low + (high - low + 1) / 2;
      std::uint64_t sum = 0;
      for (const std::uint64_t total : totals) {
        sum = add_capped(sum, std::min(total, cap));
      }
      if (sum <= options_.max_candidates) {
        low = cap;
      } else {
        high = cap - 1;
      }
    }
    cap_ = low;
  }

  std::uint64_t count(std::uint64_t open, std::uint64_t tears) const {
    std::uint64_t out = open + 1;  // prefixes
    for (unsigned size = 0; size <= options_.depth; ++size) {
      out = add_capped(out, multiply_capped(2, choose(open, size)));
      if (size > 0) {
        out = add_capped(out, multiply_capped(multiply_capped(2, tears), choose(open, size - 1)));
      }
    }
    return out;
  }

  // Positions in [first, last), all of them or a spread that includes both ends.
  static void spread(std::uint64_t first, std::uint64_t last, std::vector<std::uint64_t>& out) {
    out.clear();
    const std::uint64_t count = last > first ? last - first : 0;
    const std::uint64_t taken = std::min<std::uint64_t>(count, k_most_tears_of_a_kind);
    for (std::uint64_t i = 0; i < taken; ++i) {
      out.push_back(taken == 1 ? first : first + i * (count - 1) / (taken - 1));
    }
  }

  std::vector<CrashChoice> tears_of(const std::vector<std::uint32_t>& open) const {
    std::vector<CrashChoice> out;
    std::vector<std::uint64_t> at;
    for (const std::uint32_t effect : open) {
      const std::uint64_t sectors = simulated::sector_count(recording_.effects[effect]);
      if (sectors < 2) {
        continue;
      }
      spread(1, sectors, at);
      for (const std::uint64_t sector : at) {
        out.push_back({effect, TearKind::head, static_cast<std::uint32_t>(sector)});
        out.push_back({effect, TearKind::tail, static_cast<std::uint32_t>(sector)});
      }
      spread(0, sectors > 2 ? sectors : 0, at);
      for (const std::uint64_t sector : at) {
        out.push_back({effect, TearKind::hole, static_cast<std::uint32_t>(sector)});
      }
    }
    return out;
  }

  void visit_point() {
    ++report_.points;
    left_ = cap_;
    sampled_ = false;
    report_.largest_open = std::max<std::uint64_t>(report_.largest_open, tracker_.open().size());
    if (options_.kills) {
      visit_kills();
    }
    if (options_.power_cuts) {
      visit_power_cuts();
    }
    report_.sampled_points += sampled_ ? 1 : 0;
  }

  void visit_kills() {
    offer(CrashKind::kill, false, {});
    if (tracker_.point() == 0) {
      return;
    }
    const Event& event = recording_.events[tracker_.point() - 1];
    if (event.kind != Event::Kind::issued) {
      return;
    }
    const std::vector<std::uint32_t> effects = {event.first};  // the bytes of a write come first
    if (tracker_.position(event.first) < 0) {
      return;
    }
    for (const CrashChoice& tear : tears_of(effects)) {
      if (tear.tear == TearKind::head) {
        offer(CrashKind::kill, false, {tear});
      }
    }
  }

  void visit_power_cuts() {
    const std::vector<std::uint32_t> open = tracker_.open();
    const std::vector<CrashChoice> tears = tears_of(open);
    report_.within_bound = add_capped(report_.within_bound, count(open.size(), tears.size()));
    for (unsigned size = 0; size <= options_.depth && !report_.stopped; ++size) {
      for (const bool keeps : {false, true}) {
        visit_sets(keeps, size, open, nullptr);
        if (size > 0) {
          visit_torn_sets(keeps, size - 1, open, tears);
        }
      }
      if (size == 0) {
        visit_prefixes(open);
      }
    }
  }

  void visit_prefixes(const std::vector<std::uint32_t>& open) {
    Set kept;
    for (const std::uint32_t effect : open) {
      kept.push_back({effect, TearKind::none, 0});
      if (left_ == 0) {
        sampled_ = true;
        return;
      }
      --left_;
      offer(CrashKind::power_cut, true, kept);
    }
  }

  void visit_torn_sets(bool keeps, unsigned others, const std::vector<std::uint32_t>& open,
                       const std::vector<CrashChoice>& tears) {
    const std::uint64_t total = multiply_capped(tears.size(), choose(open.size(), others));
    if (total <= left_) {
      for (const CrashChoice& tear : tears) {
        visit_sets(keeps, others, open, &tear);
      }
      return;
    }
    sampled_ = true;
    for (const std::uint64_t share = left_ / 2; left_ > share && !report_.stopped; --left_) {
      const CrashChoice& tear = tears[random_() % tears.size()];
      offer(CrashKind::power_cut, keeps, random_set(open, others, &tear));
    }
  }

  // All sets of that size, with `tear` added if there is one; or a sample of what is left to spend.
  void visit_sets(bool keeps, unsigned size, const std::vector<std::uint32_t>& open,
                  const CrashChoice* tear) {
    const std::uint64_t total = choose(open.size(), size);
    if (total > left_) {
      sampled_ = true;
      for (const std::uint64_t share = left_ / 2; left_ > share && !report_.stopped; --left_) {
        offer(CrashKind::power_cut, keeps, random_set(open, size, tear));
      }
      return;
    }
    left_ -= total;
    std::vector<std::size_t> at(size);
    for (unsigned i = 0; i < size; ++i) {
      at[i] = i;
    }
    for (std::uint64_t done = 0; done < total && !report_.stopped; ++done) {
      Set set;
      for (const std::size_t position : at) {
        set.push_back({open[position], TearKind::none, 0});
      }
      if (tear != nullptr) {
        set.push_back(*tear);
      }
      offer(CrashKind::power_cut, keeps, std::move(set));
      // The next combination in lexicographic order.
      for (unsigned i = size; i-- > 0;) {
        if (at[i] + 1 <= open.size() - (size - i)) {
          ++at[i];
          for (unsigned j = i + 1; j < size; ++j) {
            at[j] = at[j - 1] + 1;
          }
          break;
        }
      }
    }
  }

  Set random_set(const std::vector<std::uint32_t>& open, unsigned size, const CrashChoice* tear) {
    Set set;
    while (set.size() < size) {
      const std::uint32_t effect = open[random_() % open.size()];
      if (std::ranges::none_of(set, [&](const CrashChoice& c) { return c.effect == effect; })) {
        set.push_back({effect, TearKind::none, 0});
      }
    }
    if (tear != nullptr) {
      set.push_back(*tear);
    }
    return set;
  }

  void offer(CrashKind kind, bool keeps, Set chosen) {
    if (report_.stopped) {
      return;
    }
    ++report_.candidates;
    CrashState state;
    state.selection = {kind, tracker_.point(), keeps, std::move(chosen)};
    const auto decisions = tracker_.decide(state.selection);
    if (!decisions) {
      return;
    }
    state.marks = tracker_.marks();
    const bool kill = kind == CrashKind::kill;
    const std::uint64_t parts[] = {tracker_.hash(*decisions, kill),
                                   kill ? 1U : 0U,
                                   state.marks[0],
                                   state.marks[1],
                                   state.marks[2],
                                   state.marks[3]};
    if (!seen_.insert(base::xxh3_64(std::as_bytes(std::span(parts)))).second) {
      return;
    }
    ++report_.states;
    state.image = tracker_.image();
    report_.stopped = !visit_(state);
  }

  const simulated::Recording& recording_;
  const CrashOptions& options_;
  const std::function<bool(const CrashState&)>& visit_;
  CrashTracker tracker_;
  std::mt19937_64 random_;
  CrashReport report_;
  std::uint64_t cap_ = 1;
  std::uint64_t left_ = 0;
  bool sampled_ = false;
  std::unordered_set<std::uint64_t> seen_;
};

}  // namespace

CrashReport for_each_crash(const simulated::Recording& recording, const CrashOptions& options,
                           const std::function<bool(const CrashState&)>& visit) {
  return Enumerator(recording, options, visit).run();
}

std::optional<CrashState> make_crash(const simulated::Recording& recording,
                                     const CrashSelection& selection) {
  if (selection.point > recording.events.size()) {
    return std::nullopt;
  }
  CrashTracker tracker(recording);
  while (tracker.point() < selection.point) {
    tracker.step();
  }
  const auto decisions = tracker.decide(selection);
  if (!decisions) {
    return std::nullopt;
  }
  tracker.hash(*decisions, selection.kind == CrashKind::kill);
  CrashState state;
  state.selection = selection;
  state.marks = tracker.marks();
  state.image = tracker.image();
  return state;
}

}  // namespace varve::io
