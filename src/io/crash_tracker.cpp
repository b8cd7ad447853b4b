// SPDX-License-Identifier: MIT OR Apache-2.0
#include "io/crash_tracker.hpp"

#include <algorithm>

#include "base/checksum.hpp"

namespace varve::io {

using simulated::Effect;
using simulated::EffectKind;
using simulated::Event;
using simulated::InodeNumber;
using simulated::Node;

namespace {

constexpr std::size_t k_most_variants = 4096;  // of one object, kept for reuse

}  // namespace

std::size_t CrashTracker::KeyHash::operator()(const std::vector<std::uint64_t>& key) const {
  return base::xxh3_64(std::as_bytes(std::span(key)));
}

CrashTracker::CrashTracker(const simulated::Recording& recording)
    : recording_(recording),
      status_(recording.effects.size(), Status::open),
      folded_(recording.baseline),
      positions_(recording.effects.size(), -1),
      seen_(recording.baseline.size(), 0) {
  hashes_.push_back(0);
  for (std::size_t inode = 1; inode < folded_.size(); ++inode) {
    hashes_.push_back(hash_node(*folded_[inode]));
  }
}

void CrashTracker::step() {
  const Event& event = recording_.events[point_++];
  open_is_fresh_ = false;
  switch (event.kind) {
    case Event::Kind::issued:
      for (std::uint32_t effect = event.first; effect < event.last; ++effect) {
        Track& track = tracks_[recording_.effects[effect].inode];
        track.rest.push_back(effect);
        track.variants.clear();
      }
      break;
    case Event::Kind::durable:
      settle(event.effects);
      break;
    case Event::Kind::lost:  // they stay open for ever: some of them may have been written
      break;
    case Event::Kind::mark:
      marks_[event.slot] = event.value;
      break;
  }
}

void CrashTracker::settle(const std::vector<std::uint32_t>& effects) {
  for (const std::uint32_t effect : effects) {
    status_[effect] = Status::durable;
  }
  for (const std::uint32_t effect : effects) {
    const InodeNumber inode = recording_.effects[effect].inode;
    const auto track = tracks_.find(inode);
    if (track != tracks_.end()) {
      fold(inode, track->second);
      if (track->second.rest.empty()) {
        tracks_.erase(track);
      }
    }
  }
}

void CrashTracker::fold(InodeNumber inode, Track& track) {
  track.variants.clear();
  const auto first_open = std::ranges::find_if(
      track.rest, [&](std::uint32_t effect) { return status_[effect] == Status::open; });
  if (first_open == track.rest.begin()) {
    return;
  }
  auto node = std::make_shared<Node>(*folded_[inode]);
  for (auto effect = track.rest.begin(); effect != first_open; ++effect) {
    apply(*node, recording_.effects[*effect]);
  }
  track.rest.erase(track.rest.begin(), first_open);
  hashes_[inode] = hash_node(*node);
  folded_[inode] = std::move(node);
}

void CrashTracker::refresh_open() {
  for (const std::uint32_t effect : open_) {
    positions_[effect] = -1;
  }
  open_.clear();
  // Everything that a name could lead to, whatever is kept.
  ++round_;
  stack_.assign(1, simulated::k_root);
  seen_[simulated::k_root] = round_;
  const auto reach = [&](InodeNumber inode) {
    if (inode != 0 && seen_[inode] != round_) {
      seen_[inode] = round_;
      stack_.push_back(inode);
    }
  };
  while (!stack_.empty()) {
    const InodeNumber inode = stack_.back();
    stack_.pop_back();
    for (const auto& [name, target] : folded_[inode]->entries) {
      reach(target);
    }
    const auto track = tracks_.find(inode);
    if (track == tracks_.end()) {
      continue;
    }
    for (const std::uint32_t effect : track->second.rest) {
      reach(recording_.effects[effect].target);
      if (status_[effect] == Status::open) {
        open_.push_back(effect);
      }
    }
  }
  std::ranges::sort(open_);
  for (std::size_t i = 0; i < open_.size(); ++i) {
    positions_[open_[i]] = static_cast<std::int32_t>(i);
  }
  open_is_fresh_ = true;
}

const std::vector<std::uint32_t>& CrashTracker::open() {
  if (!open_is_fresh_) {
    refresh_open();
  }
  return open_;
}

int CrashTracker::position(std::uint32_t effect) {
  open();
  return effect < positions_.size() ? positions_[effect] : -1;
}

std::optional<std::vector<CrashDecision>> CrashTracker::decide(const CrashSelection& selection) {
  std::vector<CrashDecision> out(open().size(), CrashDecision{!selection.keeps, TearKind::none, 0});
  for (const CrashChoice& choice : selection.chosen) {
    const int at = position(choice.effect);
    if (at < 0) {
      return std::nullopt;
    }
    const bool torn = choice.tear != TearKind::none;
    out[static_cast<std::size_t>(at)] = {selection.keeps || torn, choice.tear, choice.sector};
  }
  // What needs a dropped effect is dropped too; needed effects come first.
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int needed = recording_.effects[open_[i]].needs == simulated::k_nothing
                           ? -1
                           : position(recording_.effects[open_[i]].needs);
    if (needed >= 0 && !out[static_cast<std::size_t>(needed)].kept) {
      out[i].kept = false;
    }
  }
  return out;
}

CrashTracker::Variant CrashTracker::build(InodeNumber inode, const Track& track,
                                          const std::vector<CrashDecision>& decisions,
                                          bool kill) const {
  auto node = std::make_shared<Node>(*folded_[inode]);
  std::uint32_t torn_call = simulated::k_nothing;
  std::uint64_t torn_end = 0;
  for (const std::uint32_t index : track.rest) {
    const Effect& effect = recording_.effects[index];
    const std::int32_t at = positions_[index];
    const CrashDecision decision =
        at < 0 ? CrashDecision{true, TearKind::none, 0} : decisions[static_cast<std::size_t>(at)];
    if (!decision.kept) {
      continue;
    }
    switch (decision.tear) {
      case TearKind::none:
        if (kill && effect.kind == EffectKind::length && effect.call == torn_call) {
          Effect shorter = effect;  // a write that was interrupted grew the file so far only
          shorter.offset = std::max(torn_end, node->content.size());
          apply(*node, shorter);
        } else {
          apply(*node, effect);
        }
        break;
      case TearKind::head:
        apply_sectors(*node, effect, 0, decision.sector);
        torn_call = effect.call;
        torn_end = (effect.offset / simulated::k_sector_bytes + decision.sector) *
                   simulated::k_sector_bytes;
        break;
      case TearKind::tail:
        apply_sectors(*node, effect, decision.sector, sector_count(effect));
        break;
      case TearKind::hole:
        apply_sectors(*node, effect, 0, decision.sector);
        apply_sectors(*node, effect, decision.sector + 1, sector_count(effect));
        break;
    }
  }
  node->content.cut(node->content.size());  // bytes that came without their length
  const std::uint64_t hash = hash_node(*node);
  return {std::move(node), hash};
}

const CrashTracker::Variant& CrashTracker::variant(InodeNumber inode, Track& track,
                                                   const std::vector<CrashDecision>& decisions,
                                                   bool kill) {
  std::vector<std::uint64_t> key;
  key.reserve(track.rest.size() + 1);
  bool torn = false;
  for (const std::uint32_t index : track.rest) {
    const std::int32_t at = positions_[index];
    if (at >= 0) {
      const CrashDecision& decision = decisions[static_cast<std::size_t>(at)];
      torn = torn || decision.tear != TearKind::none;
      key.push_back(!decision.kept ? 0
                                   : 1 + static_cast<std::uint64_t>(decision.tear) +
                                         (std::uint64_t{decision.sector} << 8));
    }
  }
  key.push_back(torn && kill ? 1 : 0);
  const auto found = track.variants.find(key);
  if (found != track.variants.end()) {
    return found->second;
  }
  if (track.variants.size() >= k_most_variants) {
    track.variants.clear();
  }
  return track.variants.emplace(std::move(key), build(inode, track, decisions, kill)).first->second;
}

std::uint64_t CrashTracker::hash(const std::vector<CrashDecision>& decisions, bool kill) {
  open();
  chosen_.clear();
  ++round_;
  stack_.assign(1, simulated::k_root);
  seen_[simulated::k_root] = round_;
  std::uint64_t sum = 0;
  while (!stack_.empty()) {
    const InodeNumber inode = stack_.back();
    stack_.pop_back();
    const Node* node = folded_[inode].get();
    std::uint64_t own = hashes_[inode];
    const auto track = tracks_.find(inode);
    if (track != tracks_.end()) {
      const Variant& chosen = variant(inode, track->second, decisions, kill);
      chosen_[inode] = &chosen;
      node = chosen.node.get();
      own = chosen.hash;
    }
    const std::uint64_t pair[] = {inode, own};
    sum += base::xxh3_64(std::as_bytes(std::span(pair)));
    for (const auto& [name, target] : node->entries) {
      if (seen_[target] != round_) {
        seen_[target] = round_;
        stack_.push_back(target);
      }
    }
  }
  return sum;
}

simulated::Image CrashTracker::image() const {
  simulated::Image out = folded_;
  for (const auto& [inode, variant] : chosen_) {
    out[inode] = variant->node;
  }
  return out;
}

}  // namespace varve::io
