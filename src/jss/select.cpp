// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/select.hpp"

#include <algorithm>
#include <string>

namespace varve::jss {

Result<RowQuery> RowQuery::compile(const Predicate& predicate) {
  std::vector<std::string> kinds;
  std::vector<std::string> dids;
  std::vector<std::string> collections;
  for (const FilterTerm& term : predicate.terms) {
    if (term.name == "kind") {
      kinds.push_back(term.value);
    } else if (term.name == "did") {
      dids.push_back(term.value);
    } else if (term.name == "collection") {
      collections.push_back(term.value);
    } else {
      return fail(ErrorCode::invalid_argument, "filter", "no such filter: " + term.name);
    }
  }
  RowQuery query;
  VARVE_ASSIGN(query.filter, RowFilter::compile(kinds, dids, collections));
  query.seq_first = predicate.seq_first;
  query.seq_last = predicate.seq_last;
  query.since_us = predicate.since_us;
  query.until_us = predicate.until_us;
  return query;
}

std::string_view to_text(SkipReason reason) {
  switch (reason) {
    case SkipReason::none:
      return "none";
    case SkipReason::empty:
      return "empty";
    case SkipReason::seq:
      return "seq";
    case SkipReason::time:
      return "time";
    case SkipReason::names:
      return "collections";
    case SkipReason::bloom:
      return "bloom";
  }
  return "none";
}

namespace {

// The bounds rule, the same for headers and index entries.
template <class Bounds>
SkipReason skip_by_bounds(const Bounds& b, const RowQuery& query) {
  if (b.event_count == 0) {
    return SkipReason::empty;
  }
  if ((query.seq_first && b.max_seq < *query.seq_first) ||
      (query.seq_last && b.min_seq > *query.seq_last)) {
    return SkipReason::seq;
  }
  if ((query.since_us && b.max_witnessed_at < *query.since_us) ||
      (query.until_us && b.min_witnessed_at >= *query.until_us)) {
    return SkipReason::time;
  }
  return SkipReason::none;
}

// The names of a segment's table that rows admitted by the filter stand under, as a mask over the
// table's ids.
struct NameSelection {
  bool any_block = true;  // names decide nothing
  base::Bytes wanted;     // as long as a block's mask
  bool nameless = false;  // a block without any name is wanted: its rows have no collection
};

NameSelection select_names(const CollectionIndex& index, const Header& header,
                           const RowFilter& filter) {
  NameSelection selection;
  if (!filter.has_kinds() && filter.collections().empty()) {
    return selection;
  }
  const bool commits = (filter.kinds() & k_commit_kinds) != 0;
  std::uint64_t named_rows = 0;
  bool has_sentinel = false;
  selection.wanted.resize(index.bitmask_bytes());
  for (std::size_t id = 0; id < index.entries().size(); ++id) {
    const CollectionIndex::Entry& entry = index.entries()[id];
    bool wanted = false;
    if (is_sentinel(entry.name)) {
      has_sentinel = true;
      for (std::uint8_t kind = k_min_kind; kind <= k_max_kind; ++kind) {
        wanted = wanted || (sentinel_of(kind) == entry.name && filter.wants_kind(kind));
      }
    } else {
      named_rows += entry.count;
      wanted =
          commits && (filter.collections().empty() || filter.collections().matches(entry.name));
    }
    if (wanted) {
      selection.wanted[id / 8] |= static_cast<std::byte>(1U << (id % 8));
    }
  }
  // Commit rows without a collection are under no name but pass each collection filter. Where no
  // marker can account for the rows that the table leaves out, there are such rows, anywhere.
  selection.nameless = commits;
  selection.any_block = commits && !has_sentinel && named_rows < header.event_count;
  return selection;
}

bool names_admit(const NameSelection& selection, base::ByteSpan mask) {
  bool has_name = false;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    if ((mask[i] & selection.wanted[i]) != std::byte{0}) {
      return true;
    }
    has_name = has_name || mask[i] != std::byte{0};
  }
  return !has_name && selection.nameless;
}

// Asks the blooms of the blocks, one at a time.
class BlockBlooms {
 public:
  BlockBlooms(const OpenSegment& segment, const RowFilter& filter)
      : segment_(segment), filter_(filter) {}

  // False only if the block has no row of any wanted DID. A bloom that does not decode admits.
  Result<bool> admit(std::uint32_t block) {
    blob_.resize(segment_.footer->bloom_size_bytes);
    VARVE_TRY(segment_.file->read(
        blob_, block_bloom_offset(segment_.head.header, *segment_.footer, block)));
    const auto bloom = BloomView::parse(blob_);
    if (!bloom) {
      return true;
    }
    return std::any_of(filter_.did_keys().begin(), filter_.did_keys().end(),
                       [&](const BloomKey& key) { return bloom->may_contain(key); });
  }

 private:
  const OpenSegment& segment_;
  const RowFilter& filter_;
  base::Bytes blob_;
};

}  // namespace

SkipReason skip_by_header(const Header& header, const RowQuery& query) {
  return header.block_count == 0 ? SkipReason::empty : skip_by_bounds(header, query);
}

Result<BlockSelection> select_blocks(const OpenSegment& segment, const RowQuery& query) {
  BlockSelection selection;
  const Footer& footer = *segment.footer;
  const std::vector<BloomKey>& keys = query.filter.did_keys();
  if (query.filter.has_dids() && footer.did_bloom &&
      std::none_of(keys.begin(), keys.end(),
                   [&](const BloomKey& key) { return footer.did_bloom->may_contain(key); })) {
    selection.segment_bloom_denies = true;
    return selection;
  }
  const NameSelection names = select_names(*footer.collections, segment.head.header, query.filter);
  BlockBlooms blooms(segment, query.filter);
  for (std::uint32_t block = 0; block < footer.index->size(); ++block) {
    switch (skip_by_bounds((*footer.index)[block], query)) {
      case SkipReason::empty:
        ++selection.skipped_empty;
        continue;
      case SkipReason::seq:
        ++selection.skipped_by_seq;
        continue;
      case SkipReason::time:
        ++selection.skipped_by_time;
        continue;
      default:
        break;
    }
    if (!names.any_block && !names_admit(names, footer.collections->mask(block))) {
      ++selection.skipped_by_names;
      continue;
    }
    if (query.filter.has_dids()) {
      VARVE_ASSIGN(const bool admitted, blooms.admit(block));
      if (!admitted) {
        ++selection.skipped_by_bloom;
        continue;
      }
    }
    selection.blocks.push_back(block);
  }
  return selection;
}

}  // namespace varve::jss
