// SPDX-License-Identifier: MIT OR Apache-2.0
// A set of DIDs with numbers in order of first insertion. A DID is hashed once, for this table and
// for all blooms alike; equality is of the text, so that made-up hash collisions change nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "jss/bloom.hpp"

namespace varve::jss {

class DidTable {
 public:
  // Where the texts live: in the table's own memory, or in memory of the caller that outlives the
  // table's use of it (a decoded block).
  enum class Texts : std::uint8_t { copied, borrowed };
  explicit DidTable(Texts texts) : texts_(texts) {}

  // The number of a DID, which is put in if it is new.
  std::uint32_t insert(std::string_view did, const BloomKey& key);
  std::size_t size() const { return entries_.size(); }
  const BloomKey& key(std::uint32_t number) const { return entries_[number].key; }
  std::string_view text(std::uint32_t number) const {
    return {entries_[number].text, entries_[number].bytes};
  }
  void clear();

 private:
  struct Entry {
    BloomKey key;  // its padding holds nothing; 32 bytes in all
    std::uint32_t bytes = 0;
    const char* text = nullptr;
  };
  void grow();
  const char* copy(std::string_view did);

  static constexpr std::uint32_t k_free = 0xFFFFFFFF;
  Texts texts_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> slots_;  // numbers, by hash; open addressing, at most half full
  std::vector<std::unique_ptr<char[]>> chunks_;
  std::size_t chunk_left_ = 0;
  char* chunk_at_ = nullptr;
};

}  // namespace varve::jss
