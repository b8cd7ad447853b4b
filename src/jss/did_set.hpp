// SPDX-License-Identifier: MIT OR Apache-2.0
// A set of DIDs by their hashes: which are distinct, in a block or in a whole segment. Two DIDs are
// taken for one if 96 bits of their XXH3-128 agree. 16 bytes a slot, at most half of them used.
#pragma once

#include <cstdint>
#include <vector>

#include "jss/bloom.hpp"

namespace varve::jss {

class DidSet {
 public:
  // True if the key was not there.
  bool insert(const BloomKey& key) {
    if ((count_ + 1) * 2 > slots_.size()) {
      grow();
    }
    Slot& slot = find(key);
    if (slot.round == round_) {
      return false;
    }
    slot = {key.high, key.folded, round_};
    ++count_;
    return true;
  }
  // Asks the processor for the memory that insert(key) will look at first.
  void prefetch(const BloomKey& key) const {
    if (!slots_.empty()) {
      __builtin_prefetch(&slots_[key.high & (slots_.size() - 1)]);
    }
  }
  std::uint64_t size() const { return count_; }
  std::uint64_t memory_bytes() const { return slots_.size() * sizeof(Slot); }
  // Forgets all keys, in constant time.
  void clear() {
    count_ = 0;
    if (++round_ == 0) {
      slots_.assign(slots_.size(), Slot{});
      round_ = 1;
    }
  }

 private:
  struct Slot {
    std::uint64_t high = 0;
    std::uint32_t folded = 0;
    std::uint32_t round = 0;  // used if it is the set's
  };

  Slot& find(const BloomKey& key) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = key.high & mask;
    while (slots_[at].round == round_ &&
           (slots_[at].high != key.high || slots_[at].folded != key.folded)) {
      at = (at + 1) & mask;
    }
    return slots_[at];
  }
  void grow() {
    std::vector<Slot> old = std::move(slots_);
    slots_.assign(old.empty() ? 1024 : old.size() * 2, Slot{});
    for (const Slot& slot : old) {
      if (slot.round == round_) {
        find({slot.high, slot.folded}) = slot;
      }
    }
  }

  std::vector<Slot> slots_;
  std::uint64_t count_ = 0;
  std::uint32_t round_ = 1;
};

}  // namespace varve::jss
