// SPDX-License-Identifier: MIT OR Apache-2.0
// The states that a crash may leave, enumerated from the recording of a simulated file system.
//
// A crash happens at a point: before each change, sync or at the end. A process kill keeps all that
// was issued (and a part of the write it interrupts). A power cut keeps what is durable, and of the
// effects that are not, within the bound: every prefix in issue order; every set with at most
// `depth` dropped; every set with at most `depth` kept. One of the set may be torn instead: the
// leading sectors of its bytes kept, the trailing ones, or all but one. Effects are applied in
// issue order, so the last one kept wins.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/simulated.hpp"

namespace varve::io {

enum class CrashKind : std::uint8_t { kill, power_cut };
enum class TearKind : std::uint8_t { none, head, tail, hole };

// An effect that is treated unlike the others. With a tear, `sector` counts from the sector of the
// effect's first byte: head keeps the sectors before it, tail those from it on, hole all but it.
struct CrashChoice {
  std::uint32_t effect = 0;
  TearKind tear = TearKind::none;
  std::uint32_t sector = 0;
};

// Names one crash state of a recording; enough to make it again.
struct CrashSelection {
  CrashKind kind = CrashKind::power_cut;
  std::uint32_t point = 0;  // events of the recording that had happened
  bool keeps = false;       // of the open effects only `chosen` are kept; else all but `chosen`
  std::vector<CrashChoice> chosen;
};

// "power 12 drop 3,5:head2", "kill 7 drop", "power 12 keep 4".
std::string to_text(const CrashSelection& selection);
std::optional<CrashSelection> parse_crash(std::string_view text);

struct CrashState {
  CrashSelection selection;
  std::array<std::uint64_t, simulated::k_mark_slots> marks{};  // as the test set them before
  simulated::Image image;

  bool is_kill() const { return selection.kind == CrashKind::kill; }
  // A machine that comes up again with this content, all of it durable.
  std::unique_ptr<SimulatedFileSystem> restart(const SimulatedFileSystem::Options& options = {
                                                   nullptr, false}) const {
    return std::make_unique<SimulatedFileSystem>(image, options);
  }
};

struct CrashOptions {
  std::uint64_t seed = 1;
  // Candidates to look at over all points; beyond it points with many candidates are sampled.
  std::uint64_t max_candidates = 500'000;
  unsigned depth = 3;
  bool kills = true;
  bool power_cuts = true;
  bool only_last_point = false;  // the run ended (with an error, say) and the power fails then
};

struct CrashReport {
  std::uint64_t points = 0;
  std::uint64_t within_bound = 0;  // sets that the bound allows, over all points
  std::uint64_t candidates = 0;    // of them looked at
  std::uint64_t states = 0;        // distinct ones, each shown to the visitor
  std::uint64_t sampled_points = 0;
  std::uint64_t largest_open = 0;  // effects open at one point, at most
  bool stopped = false;            // the visitor had enough
  bool exhaustive() const { return sampled_points == 0 && !stopped; }
};

// Shows each distinct state to `visit`, which returns false to stop. The same recording and options
// give the same states in the same order.
CrashReport for_each_crash(const simulated::Recording& recording, const CrashOptions& options,
                           const std::function<bool(const CrashState&)>& visit);

// The state that a selection names; nullopt if the recording has no such point or effect.
std::optional<CrashState> make_crash(const simulated::Recording& recording,
                                     const CrashSelection& selection);

}  // namespace varve::io
