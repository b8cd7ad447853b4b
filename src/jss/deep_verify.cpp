// SPDX-License-Identifier: MIT OR Apache-2.0
// What one block must agree with; the totals are in deep_totals.cpp.
#include "jss/deep_verify.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace varve::jss {

namespace {

// How many names that the table lacks are told a block.
constexpr std::size_t k_max_unknown_names = 8;

// Remembers which id the last names had: rows of one block use few names, in any order.
class IdCache {
 public:
  explicit IdCache(const std::unordered_map<std::string_view, std::uint32_t>& ids) : ids_(ids) {}
  // The id, or nullopt if the table has no such name. `name` is not empty.
  std::optional<std::uint32_t> find(std::string_view name) {
    const std::size_t at = (name.size() * 31 + static_cast<unsigned char>(name.back()) * 7 +
                            static_cast<unsigned char>(name[name.size() / 2])) %
                           slots_.size();
    Slot& slot = slots_[at];
    if (slot.name != name) {
      const auto found = ids_.find(name);
      if (found == ids_.end()) {
        return std::nullopt;
      }
      slot = {name, found->second};
    }
    return slot.id;
  }

 private:
  struct Slot {
    std::string_view name;
    std::uint32_t id = 0;
  };
  const std::unordered_map<std::string_view, std::uint32_t>& ids_;
  std::array<Slot, 256> slots_;
};

}  // namespace

Finding strict_finding(Severity severity, const char* code, const std::string& file,
                       std::uint64_t offset, std::uint64_t length, const char* unit,
                       std::string message, std::uint64_t expected, std::uint64_t actual) {
  Finding finding =
      make_finding(code, k_stage_verify, file, offset, length, unit, std::move(message));
  finding.severity = severity;
  finding.expected = Number::decimal(expected);
  finding.actual = Number::decimal(actual);
  return finding;
}

Finding DeepVerifier::mismatch(std::uint64_t offset, std::uint64_t length, const char* unit,
                               std::string message, std::uint64_t expected,
                               std::uint64_t actual) const {
  Finding finding = strict_finding(Severity::error, k_verify_mismatch, segment_.file->name(),
                                   offset, length, unit, std::move(message), expected, actual);
  finding.verdict = Verdict::damaged;
  return finding;
}

// One block while it is checked.
struct DeepVerifier::Context {
  const DeepVerifier& verifier;
  const FrameRef& frame;
  std::uint32_t index;
  const Block& block;
  const IndexEntry* entry;  // null without a trusted footer
  BlockCheck out;

  Finding& add(Finding finding) {
    finding.index = index;
    out.findings.push_back(std::move(finding));
    return out.findings.back();
  }
  void differ(std::string message, std::uint64_t expected, std::uint64_t actual) {
    add(verifier.mismatch(frame.offset, k_length_prefix_bytes + frame.frame_bytes, "block",
                          std::move(message), expected, actual));
  }
  void warn(const char* code, std::string message, std::uint64_t expected, std::uint64_t actual) {
    add(strict_finding(Severity::warning, code, verifier.segment_.file->name(), frame.offset,
                       k_length_prefix_bytes + frame.frame_bytes, "block", std::move(message),
                       expected, actual));
  }
};

DeepVerifier::DeepVerifier(const OpenSegment& segment, std::uint64_t max_memory_bytes)
    : segment_(segment), deep_(segment.trusted()), max_memory_bytes_(max_memory_bytes) {
  if (!deep_) {
    return;
  }
  const auto& entries = segment.footer->collections->entries();
  ids_.reserve(entries.size());
  for (std::uint32_t id = 0; id < entries.size(); ++id) {
    ids_.emplace(entries[id].name, id);
  }
  for (std::uint8_t kind = k_min_kind; kind <= k_max_kind; ++kind) {
    if (const auto found = ids_.find(sentinel_of(kind));
        !sentinel_of(kind).empty() && found != ids_.end()) {
      sentinel_ids_[kind] = found->second;
    }
  }
  name_rows_.resize(entries.size());
  name_occurs_.resize(entries.size());
}

void DeepVerifier::check_bounds(Context& c) const {
  const BlockColumns& columns = c.block.columns;
  BlockCheck& out = c.out;
  out.rows = columns.rows;
  if (columns.rows != 0) {
    const auto [min_seq, max_seq] = std::minmax_element(columns.seq, columns.seq + columns.rows);
    const auto [min_time, max_time] =
        std::minmax_element(columns.witnessed_at, columns.witnessed_at + columns.rows);
    out.first_seq = columns.seq[0];
    out.last_seq = columns.seq[columns.rows - 1];
    out.min_seq = *min_seq;
    out.max_seq = *max_seq;
    out.min_time = *min_time;
    out.max_time = *max_time;
  }
  if (c.entry == nullptr) {
    return;
  }
  if (out.rows != c.entry->event_count) {
    c.differ("the block has another number of rows than its index entry says", c.entry->event_count,
             out.rows);
  }
  if (out.rows == 0) {
    return;
  }
  if (out.min_seq < c.entry->min_seq || out.max_seq > c.entry->max_seq) {
    const bool below = out.min_seq < c.entry->min_seq;
    c.differ("a row's seq lies outside the bounds of its block",
             below ? c.entry->min_seq : c.entry->max_seq, below ? out.min_seq : out.max_seq);
  }
  if (out.min_time < c.entry->min_witnessed_at || out.max_time > c.entry->max_witnessed_at) {
    const bool below = out.min_time < c.entry->min_witnessed_at;
    c.differ(
        "a row's witnessed_at lies outside the bounds of its block",
        static_cast<std::uint64_t>(below ? c.entry->min_witnessed_at : c.entry->max_witnessed_at),
        static_cast<std::uint64_t>(below ? out.min_time : out.max_time));
  }
}

void DeepVerifier::check_order(Context& c) const {
  const BlockColumns& columns = c.block.columns;
  for (std::uint32_t row = 1; row < columns.rows; ++row) {
    if (columns.seq[row] <= columns.seq[row - 1]) {
      c.warn("rows-not-ascending",
             "row " + std::to_string(row) +
                 " has no higher seq than the one "
                 "before it",
             columns.seq[row - 1] + 1, columns.seq[row]);
      break;
    }
  }
  if (c.out.rows != 0 && c.out.min_seq == 0) {
    c.warn("seq-zero", "a row has the seq 0, which means \"before the first\"", 1, 0);
  }
  if (c.out.rows == 0 && segment_.head.state == SegmentState::active) {
    c.warn("empty-block-in-active",
           "a block without rows in an active segment; the reference looks at nothing behind it", 1,
           0);
  }
}

void DeepVerifier::check_names(Context& c, Scratch& scratch) const {
  const BlockColumns& columns = c.block.columns;
  scratch.counts.resize(name_rows_.size());
  IdCache cache(ids_);
  std::vector<std::string_view> unknown;
  std::uint8_t kinds = 0;
  for (std::uint32_t row = 0; row < columns.rows; ++row) {
    kinds |= static_cast<std::uint8_t>(1U << columns.kind[row]);
    const std::string_view name = columns.collection.at(row);
    if (name.empty()) {
      continue;
    }
    if (const auto id = cache.find(name)) {
      if (scratch.counts[*id]++ == 0) {
        c.out.names.push_back({*id, 0});
      }
    } else if (unknown.size() < k_max_unknown_names &&
               std::find(unknown.begin(), unknown.end(), name) == unknown.end()) {
      unknown.push_back(name);
    }
  }
  for (BlockCheck::NameCount& name : c.out.names) {
    name.rows = std::exchange(scratch.counts[name.id], 0U);
  }
  for (std::uint8_t kind = k_min_kind; kind <= k_max_kind; ++kind) {
    if (((kinds >> kind) & 1) == 0 || sentinel_of(kind).empty()) {
      continue;
    }
    if (sentinel_ids_[kind]) {
      c.out.names.push_back({*sentinel_ids_[kind], 0});
    } else {
      unknown.push_back(sentinel_of(kind));
    }
  }
  for (const std::string_view name : unknown) {
    c.differ("a row's name is not in the collection table: " + std::string(name), 1, 0);
  }
}

void DeepVerifier::check_mask(Context& c, Scratch& scratch) const {
  const base::ByteSpan stored = segment_.footer->collections->mask(c.index);
  scratch.mask.assign(stored.size(), std::byte{0});
  for (const BlockCheck::NameCount& name : c.out.names) {
    scratch.mask[name.id / 8] |= static_cast<std::byte>(1U << (name.id % 8));
  }
  const auto differs = std::mismatch(stored.begin(), stored.end(), scratch.mask.begin());
  if (differs.first == stored.end()) {
    return;
  }
  const auto byte = static_cast<std::size_t>(differs.first - stored.begin());
  const unsigned bits = base::u8(*differs.first ^ *differs.second);
  std::size_t id = byte * 8;
  while (((bits >> (id % 8)) & 1) == 0) {
    ++id;
  }
  const bool stored_bit = ((base::u8(*differs.first) >> (id % 8)) & 1) != 0;
  const std::string name(segment_.footer->collections->entries()[id].name);
  c.differ(stored_bit ? "the block's mask names a collection that no row has: " + name
                      : "the block's mask lacks a collection that a row has: " + name,
           stored_bit ? 1 : 0, stored_bit ? 0 : 1);
}

// Distinct DIDs, and each of them against the two blooms.
Result<void> DeepVerifier::check_dids(Context& c, Scratch& scratch) const {
  const BlockColumns& columns = c.block.columns;
  const Footer& footer = *segment_.footer;
  scratch.blob.resize(footer.bloom_size_bytes);
  const std::uint64_t blob_at = block_bloom_offset(segment_.head.header, footer, c.index);
  VARVE_TRY(segment_.file->read(scratch.blob, blob_at));
  const auto bloom = BloomView::parse(scratch.blob);
  if (!bloom) {
    c.add(mismatch(blob_at, scratch.blob.size(), "block bloom",
                   std::string("the block's bloom does not decode: ") + bloom.error().word,
                   bloom.error().expected.value, bloom.error().actual.value));
  }
  scratch.dids.clear();
  scratch.did_rows.clear();
  std::string_view last;
  for (std::uint32_t row = 0; row < columns.rows; ++row) {
    const std::string_view did = columns.did.at(row);
    if (did.empty() || did == last) {
      continue;
    }
    last = did;
    const BloomKey key = BloomKey::of(did);
    if (!scratch.dids.insert(key)) {
      continue;
    }
    c.out.dids.push_back(key);
    scratch.did_rows.push_back(row);
    // By the time that the second loop asks, the segment's bloom has come from memory.
    if (footer.did_bloom) {
      footer.did_bloom->prefetch(key);
    }
  }
  std::string_view denied_by_block;
  std::string_view denied_by_segment;
  for (std::size_t i = 0; i < c.out.dids.size(); ++i) {
    const BloomKey& key = c.out.dids[i];
    if (bloom && denied_by_block.empty() && !bloom->may_contain(key)) {
      denied_by_block = columns.did.at(scratch.did_rows[i]);
    }
    if (footer.did_bloom && denied_by_segment.empty() && !footer.did_bloom->may_contain(key)) {
      denied_by_segment = columns.did.at(scratch.did_rows[i]);
    }
  }
  if (!denied_by_block.empty()) {
    c.add(mismatch(blob_at, scratch.blob.size(), "block bloom",
                   "the block's bloom denies a DID of the block: " + std::string(denied_by_block),
                   1, 0));
  }
  if (!denied_by_segment.empty()) {
    const Header& h = segment_.head.header;
    c.add(mismatch(
        h.did_bloom_offset, h.block_did_bloom_offset - h.did_bloom_offset, "segment bloom",
        "the segment's bloom denies a DID of a block: " + std::string(denied_by_segment), 1, 0));
  }
  if (bloom) {
    c.out.bloom_parameters_known = true;
    c.out.bloom_parameters = bloom->parameters();
    if (bloom->count() != c.out.dids.size()) {
      c.add(strict_finding(Severity::warning, "bloom-count-differs", segment_.file->name(), blob_at,
                           scratch.blob.size(), "block bloom",
                           "the block's bloom says another number of DIDs than the block has",
                           c.out.dids.size(), bloom->count()));
    }
  }
  return {};
}

// What the reference does not look at: the prefix, the size, the frame's own checksum, holes.
Result<void> DeepVerifier::check_frame(Context& c, base::ByteSpan frame) const {
  const auto header = base::zstd_frame_header(frame);
  if (header && !header->has_checksum) {
    c.warn("no-content-checksum", "the frame has no content checksum: its bytes are unprotected", 1,
           0);
  }
  if (c.entry == nullptr) {
    return {};
  }
  std::array<std::byte, k_length_prefix_bytes> raw;
  VARVE_TRY(segment_.file->read(raw, c.frame.offset));
  if (const std::uint64_t prefix = base::u64le(raw.data()); prefix != c.frame.frame_bytes) {
    c.add(strict_finding(Severity::warning, "length-prefix-differs", segment_.file->name(),
                         c.frame.offset, k_length_prefix_bytes, "length prefix",
                         "the length prefix is not the compressed size of the index entry",
                         c.frame.frame_bytes, prefix));
  }
  if (c.block.body.size() != c.entry->uncompressed_size) {
    c.warn("uncompressed-size-differs", "the body has another size than its index entry says",
           c.entry->uncompressed_size, c.block.body.size());
  }
  const std::uint64_t before = c.index == 0
                                   ? k_first_frame_offset
                                   : segment_.entry(c.index - 1).offset + k_length_prefix_bytes +
                                         segment_.entry(c.index - 1).compressed_size;
  if (before != c.frame.offset) {
    c.add(strict_finding(Severity::warning, "bytes-between-frames", segment_.file->name(), before,
                         c.frame.offset - before, "hole",
                         "bytes between two frames that belong to none", before, c.frame.offset));
  }
  return {};
}

Result<BlockCheck> DeepVerifier::check(const FrameRef& frame, std::uint32_t index,
                                       const Block& block, base::ByteSpan frame_bytes,
                                       Scratch& scratch) const {
  Context c{*this, frame, index, block, deep_ ? &segment_.entry(index) : nullptr, {}};
  c.out.offset = frame.offset;
  c.out.length = k_length_prefix_bytes + frame.frame_bytes;
  check_bounds(c);
  if (deep_) {
    check_names(c, scratch);
    check_mask(c, scratch);
    VARVE_TRY(check_dids(c, scratch));
  }
  check_order(c);
  VARVE_TRY(check_frame(c, frame_bytes));
  return std::move(c.out);
}

}  // namespace varve::jss
