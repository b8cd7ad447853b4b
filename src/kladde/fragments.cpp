// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kladde/fragments.hpp"

#include <algorithm>
#include <cassert>

namespace varve::kladde {

namespace {
constexpr std::size_t k_chunk_fragments = 128;
}

Fragment Fragment::clipped(std::uint64_t from, std::uint64_t to) const {
  Fragment out = *this;
  const std::uint64_t first = std::max<std::uint64_t>(from, start);
  const std::uint64_t last = std::min(to, end());
  assert(first < last);
  out.start = static_cast<std::uint32_t>(first);
  out.size = static_cast<std::uint32_t>(last - first);
  if (has_bytes()) {
    out.address += first - start;
  }
  return out;
}

std::span<const Fragment> FragmentList::chunk(std::size_t i) const {
  if (many_) {
    return (*many_)[i];
  }
  return {&one_, 1};
}

void FragmentList::assign(std::span<const Fragment> fragments) {
  assert(count_ == 0);
  for (const Fragment& fragment : fragments) {
    covered_ += fragment.size;
  }
  splice({}, 0, fragments);
}

FragmentList::Position FragmentList::first_ending_behind(std::uint64_t byte) const {
  if (!many_) {
    return {count_ > 0 && one_.end() <= byte ? std::size_t{1} : std::size_t{0}, 0};
  }
  const auto chunk_at =
      std::partition_point(many_->begin(), many_->end(),
                           [&](const Chunk& fragments) { return fragments.back().end() <= byte; });
  if (chunk_at == many_->end()) {
    return {many_->size(), 0};
  }
  const auto at =
      std::partition_point(chunk_at->begin(), chunk_at->end(),
                           [&](const Fragment& fragment) { return fragment.end() <= byte; });
  return {static_cast<std::size_t>(chunk_at - many_->begin()),
          static_cast<std::size_t>(at - chunk_at->begin())};
}

const Fragment* FragmentList::at(std::uint64_t byte) const {
  const Position position = first_ending_behind(byte);
  if (position.chunk >= chunk_count()) {
    return nullptr;
  }
  const Fragment& fragment = chunk(position.chunk)[position.index];
  return fragment.start <= byte ? &fragment : nullptr;
}

// Puts `instead` where `removed_count` fragments from `first` on stood.
void FragmentList::splice(Position first, std::size_t removed_count,
                          std::span<const Fragment> instead) {
  count_ = count_ - removed_count + instead.size();
  if (!many_) {
    std::vector<Fragment> all;
    if (count_ + removed_count - instead.size() > 0) {
      all.push_back(one_);
    }
    const auto at = all.begin() + static_cast<std::ptrdiff_t>(first.chunk);
    const auto behind = all.erase(at, at + static_cast<std::ptrdiff_t>(removed_count));
    all.insert(behind, instead.begin(), instead.end());
    if (all.size() <= 1) {
      one_ = all.empty() ? Fragment{} : all.front();
      return;
    }
    many_ = std::make_unique<std::vector<Chunk>>();
    many_->push_back(std::move(all));
    tidy(0);
    return;
  }
  if (first.chunk == many_->size()) {
    if (many_->empty()) {
      many_->emplace_back();
    }
    first = {many_->size() - 1, many_->back().size()};
  }
  // Remove: first what lies in the first chunk, then from the front of those behind it.
  std::size_t left = removed_count;
  Chunk& target = (*many_)[first.chunk];
  const std::size_t here = std::min(left, target.size() - first.index);
  target.erase(target.begin() + static_cast<std::ptrdiff_t>(first.index),
               target.begin() + static_cast<std::ptrdiff_t>(first.index + here));
  left -= here;
  std::size_t emptied = 0;
  while (left > 0) {
    Chunk& next = (*many_)[first.chunk + 1 + emptied];
    if (next.size() > left) {
      next.erase(next.begin(), next.begin() + static_cast<std::ptrdiff_t>(left));
      break;
    }
    left -= next.size();
    ++emptied;
  }
  const auto behind = many_->begin() + static_cast<std::ptrdiff_t>(first.chunk) + 1;
  many_->erase(behind, behind + static_cast<std::ptrdiff_t>(emptied));
  Chunk& final_target = (*many_)[first.chunk];
  final_target.insert(final_target.begin() + static_cast<std::ptrdiff_t>(first.index),
                      instead.begin(), instead.end());
  tidy(first.chunk);
  if (count_ == 0) {
    many_.reset();
  }
}

// Keeps chunks neither empty nor large: splits the chunk, drops it, or joins it with a neighbour.
void FragmentList::tidy(std::size_t index) {
  std::vector<Chunk>& chunks = *many_;
  const auto at = [&](std::size_t i) { return chunks.begin() + static_cast<std::ptrdiff_t>(i); };
  if (chunks[index].size() > 2 * k_chunk_fragments) {
    const Chunk whole = std::move(chunks[index]);
    std::vector<Chunk> parts;
    for (std::size_t from = 0; from < whole.size(); from += k_chunk_fragments) {
      const std::size_t to = std::min(from + k_chunk_fragments, whole.size());
      parts.emplace_back(whole.begin() + static_cast<std::ptrdiff_t>(from),
                         whole.begin() + static_cast<std::ptrdiff_t>(to));
    }
    chunks.insert(chunks.erase(at(index)), std::make_move_iterator(parts.begin()),
                  std::make_move_iterator(parts.end()));
    return;
  }
  if (chunks[index].empty()) {
    chunks.erase(at(index));
    return;
  }
  if (index + 1 < chunks.size() &&
      chunks[index].size() + chunks[index + 1].size() <= k_chunk_fragments) {
    chunks[index].insert(chunks[index].end(), chunks[index + 1].begin(), chunks[index + 1].end());
    chunks.erase(at(index + 1));
  }
}

}  // namespace varve::kladde
