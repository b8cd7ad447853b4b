// SPDX-License-Identifier: MIT OR Apache-2.0
// Follows a recording event by event and builds the image that a choice of open effects leaves.
// Internal to src/io.
#pragma once

#include <unordered_map>

#include "io/crash.hpp"

namespace varve::io {

// What becomes of one open effect.
struct CrashDecision {
  bool kept = false;
  TearKind tear = TearKind::none;  // if kept
  std::uint32_t sector = 0;
  friend bool operator==(const CrashDecision&, const CrashDecision&) = default;
};

class CrashTracker {
 public:
  explicit CrashTracker(const simulated::Recording& recording);

  std::uint32_t point() const { return point_; }
  bool at_end() const { return point_ == recording_.events.size(); }
  const simulated::Event& next_event() const { return recording_.events[point_]; }
  void step();

  // Effects that a power cut may keep or lose, in issue order; those of objects that no name could
  // lead to after a crash are left out.
  const std::vector<std::uint32_t>& open();
  // The position of an effect in open(), or -1.
  int position(std::uint32_t effect);
  const std::array<std::uint64_t, simulated::k_mark_slots>& marks() const { return marks_; }

  // The decisions of a selection, one for each of open(); nullopt if it names an effect that is not
  // open here.
  std::optional<std::vector<CrashDecision>> decide(const CrashSelection& selection);

  // The hash of what can be reached after a crash with these decisions. `kill` makes a torn write
  // also stop short in length.
  std::uint64_t hash(const std::vector<CrashDecision>& decisions, bool kill);
  // The image of the decisions last given to hash().
  simulated::Image image() const;

 private:
  enum class Status : std::uint8_t { open, durable };
  struct Variant {
    std::shared_ptr<const simulated::Node> node;
    std::uint64_t hash = 0;
  };
  struct KeyHash {
    std::size_t operator()(const std::vector<std::uint64_t>& key) const;
  };
  // An object and the effects on it that cannot be folded into it yet: the first one is open.
  struct Track {
    std::vector<std::uint32_t> rest;
    std::unordered_map<std::vector<std::uint64_t>, Variant, KeyHash> variants;
  };

  void settle(const std::vector<std::uint32_t>& effects);
  void fold(simulated::InodeNumber inode, Track& track);
  void refresh_open();
  const Variant& variant(simulated::InodeNumber inode, Track& track,
                         const std::vector<CrashDecision>& decisions, bool kill);
  Variant build(simulated::InodeNumber inode, const Track& track,
                const std::vector<CrashDecision>& decisions, bool kill) const;

  const simulated::Recording& recording_;
  std::uint32_t point_ = 0;
  std::array<std::uint64_t, simulated::k_mark_slots> marks_{};
  std::vector<Status> status_;
  simulated::Image folded_;
  std::vector<std::uint64_t> hashes_;  // of folded_
  std::unordered_map<simulated::InodeNumber, Track> tracks_;
  std::vector<std::uint32_t> open_;
  std::vector<std::int32_t> positions_;  // by effect
  bool open_is_fresh_ = false;

  // Of the decisions last hashed: what stands in for the folded nodes.
  std::unordered_map<simulated::InodeNumber, const Variant*> chosen_;
  std::vector<std::uint32_t> seen_;  // by inode: the last round that reached it
  std::uint32_t round_ = 0;
  std::vector<simulated::InodeNumber> stack_;
};

}  // namespace varve::io
