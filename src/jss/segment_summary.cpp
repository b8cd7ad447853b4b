// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/segment_summary.hpp"

#include <algorithm>

namespace varve::jss {

void BlockSummary::count_name(std::string_view name, std::uint32_t rows) {
  const auto [at, is_new] =
      name_numbers_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
  if (is_new) {
    names_.push_back({name, rows});
  } else {
    names_[at->second].rows += rows;
  }
}

void BlockSummary::summarize(const BlockColumns& columns) {
  entry_ = IndexEntry{};
  dids_.clear();
  names_.clear();
  name_numbers_.clear();
  entry_.event_count = columns.rows;
  if (columns.rows == 0) {
    return;
  }
  const auto [min_seq, max_seq] = std::minmax_element(columns.seq, columns.seq + columns.rows);
  entry_.min_seq = *min_seq;
  entry_.max_seq = *max_seq;
  const auto [first, last] =
      std::minmax_element(columns.witnessed_at, columns.witnessed_at + columns.rows);
  entry_.min_witnessed_at = *first;
  entry_.max_witnessed_at = *last;
  std::string_view last_did;
  for (std::size_t row = 0; row < columns.rows; ++row) {
    const std::string_view did = columns.did.at(row);
    if (!did.empty() && did != last_did) {
      dids_.insert(did, BloomKey::of(did));
      last_did = did;
    }
    if (const std::string_view collection = columns.collection.at(row); !collection.empty()) {
      count_name(collection, 1);
    }
    if (const std::string_view sentinel = sentinel_of(columns.kind[row]); !sentinel.empty()) {
      count_name(sentinel, 0);
    }
  }
}

void SegmentSummary::add(const BlockSummary& block, const IndexEntry& entry) {
  if (entry.event_count != 0) {
    const bool first = event_count_ == 0;
    min_seq_ = first ? entry.min_seq : std::min(min_seq_, entry.min_seq);
    max_seq_ = first ? entry.max_seq : std::max(max_seq_, entry.max_seq);
    min_witnessed_at_ =
        first ? entry.min_witnessed_at : std::min(min_witnessed_at_, entry.min_witnessed_at);
    max_witnessed_at_ =
        first ? entry.max_witnessed_at : std::max(max_witnessed_at_, entry.max_witnessed_at);
  }
  event_count_ += entry.event_count;
  entries_.push_back(entry);

  std::vector<std::uint32_t>& dids = block_dids_.emplace_back();
  dids.reserve(block.dids().size());
  for (std::uint32_t i = 0; i < block.dids().size(); ++i) {
    dids.push_back(dids_.insert(block.dids().text(i), block.dids().key(i)));
  }
  std::vector<std::uint32_t>& names = block_names_.emplace_back();
  names.reserve(block.names().size());
  for (const BlockSummary::Name& name : block.names()) {
    const auto [at, is_new] = name_numbers_.try_emplace(std::string(name.text),
                                                        static_cast<std::uint32_t>(names_.size()));
    if (is_new) {
      names_.push_back({std::string(name.text), 0});
    }
    names_[at->second].rows += name.rows;
    names.push_back(at->second);
  }
}

}  // namespace varve::jss
