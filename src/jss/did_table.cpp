// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/did_table.hpp"

#include <algorithm>

#include "base/bytes.hpp"

namespace varve::jss {

namespace {
constexpr std::size_t k_chunk_bytes = std::size_t{256} << 10;
constexpr std::size_t k_least_slots = 1024;
}  // namespace

std::uint32_t DidTable::insert(std::string_view did, const BloomKey& key) {
  if (slots_.size() < 2 * (entries_.size() + 1)) {
    grow();
  }
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = key.high & mask;; at = (at + 1) & mask) {
    const std::uint32_t number = slots_[at];
    if (number == k_free) {
      slots_[at] = static_cast<std::uint32_t>(entries_.size());
      Entry entry;
      entry.key = key;
      entry.bytes = static_cast<std::uint32_t>(did.size());
      entry.text = texts_ == Texts::copied ? copy(did) : did.data();
      entries_.push_back(entry);
      return slots_[at];
    }
    if (entries_[number].key == key && text(number) == did) {
      return number;
    }
  }
}

void DidTable::grow() {
  slots_.assign(std::max(k_least_slots, slots_.size() * 2), k_free);
  const std::size_t mask = slots_.size() - 1;
  for (std::uint32_t number = 0; number < entries_.size(); ++number) {
    std::size_t at = entries_[number].key.high & mask;
    while (slots_[at] != k_free) {
      at = (at + 1) & mask;
    }
    slots_[at] = number;
  }
}

const char* DidTable::copy(std::string_view did) {
  if (did.size() > chunk_left_) {
    chunk_left_ = std::max(k_chunk_bytes, did.size());
    chunks_.push_back(std::make_unique_for_overwrite<char[]>(chunk_left_));
    chunk_at_ = chunks_.back().get();
  }
  char* to = chunk_at_;
  base::copy_bytes(to, did.data(), did.size());
  chunk_at_ += did.size();
  chunk_left_ -= did.size();
  return to;
}

void DidTable::clear() {
  entries_.clear();
  std::ranges::fill(slots_, k_free);
  chunks_.clear();
  chunk_left_ = 0;
  chunk_at_ = nullptr;
}

}  // namespace varve::jss
