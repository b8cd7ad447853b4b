// SPDX-License-Identifier: MIT OR Apache-2.0
// The second half of deep verification: the sums over a segment.
#include <algorithm>
#include <string>

#include "jss/deep_verify.hpp"

namespace varve::jss {

void DeepVerifier::add(std::uint32_t index, const BlockCheck& check, FindingSink& findings) {
  for (const Finding& finding : check.findings) {
    findings.add(finding);
  }
  if (check.rows != 0) {
    if (rows_ != 0 && check.first_seq <= last_seq_) {
      Finding finding =
          strict_finding(Severity::warning, "rows-not-ascending", segment_.file->name(),
                         check.offset, check.length, "block",
                         "the block's first row has no higher seq than the last row before it",
                         last_seq_ + 1, check.first_seq);
      finding.index = index;
      findings.add(std::move(finding));
    }
    min_seq_ = rows_ == 0 ? check.min_seq : std::min(min_seq_, check.min_seq);
    max_seq_ = rows_ == 0 ? check.max_seq : std::max(max_seq_, check.max_seq);
    min_time_ = rows_ == 0 ? check.min_time : std::min(min_time_, check.min_time);
    max_time_ = rows_ == 0 ? check.max_time : std::max(max_time_, check.max_time);
    last_seq_ = check.last_seq;
    rows_ += check.rows;
  }
  most_dids_ = std::max<std::uint64_t>(most_dids_, check.dids.size());
  for (const BlockCheck::NameCount& name : check.names) {
    name_rows_[name.id] += name.rows;
    name_occurs_[name.id] = true;
  }
  // The set of a large segment is not in any cache: ask for what comes a few keys later.
  constexpr std::size_t k_ahead = 12;
  for (std::size_t i = 0; i < check.dids.size(); ++i) {
    if (dids_.memory_bytes() > max_memory_bytes_) {
      dids_complete_ = false;
      break;
    }
    if (i + k_ahead < check.dids.size()) {
      dids_.prefetch(check.dids[i + k_ahead]);
    }
    dids_.insert(check.dids[i]);
  }
}

void DeepVerifier::finish(FindingSink& findings) {
  if (!deep_) {
    return;
  }
  if (complete_) {
    finish_totals(findings);
    finish_names(findings);
  }
  finish_strict(findings);
}

void DeepVerifier::finish_totals(FindingSink& findings) {
  const Header& h = segment_.head.header;
  const auto differ = [&](const char* message, std::uint64_t expected, std::uint64_t actual) {
    findings.add(mismatch(0, k_header_bytes, "header", message, expected, actual));
  };
  if (rows_ != h.event_count) {
    differ("the header's event_count is not the number of rows", h.event_count, rows_);
  }
  if (!dids_complete_) {
    Finding finding =
        make_finding("limit", k_stage_verify, segment_.file->name(), 0, k_header_bytes, "header",
                     "more distinct DIDs than the memory limit lets count");
    finding.verdict = Verdict::unknown;
    findings.add(std::move(finding));
  } else if (dids_.size() != h.unique_did_count) {
    differ("the header's unique_did_count is not the number of distinct DIDs", h.unique_did_count,
           dids_.size());
  }
  if (rows_ != 0 && (min_seq_ < h.min_seq || max_seq_ > h.max_seq)) {
    const bool below = min_seq_ < h.min_seq;
    differ("a row's seq lies outside the header's bounds", below ? h.min_seq : h.max_seq,
           below ? min_seq_ : max_seq_);
  }
  if (rows_ != 0 && (min_time_ < h.min_witnessed_at || max_time_ > h.max_witnessed_at)) {
    const bool below = min_time_ < h.min_witnessed_at;
    differ("a row's witnessed_at lies outside the header's bounds",
           static_cast<std::uint64_t>(below ? h.min_witnessed_at : h.max_witnessed_at),
           static_cast<std::uint64_t>(below ? min_time_ : max_time_));
  }
  if (!segment_.footer->did_bloom && dids_.size() != 0) {
    findings.add(mismatch(h.did_bloom_offset, 0, "segment bloom",
                          "the segment has DIDs but no bloom", dids_.size(), 0));
  }
}

void DeepVerifier::finish_names(FindingSink& findings) {
  const auto& entries = segment_.footer->collections->entries();
  const std::uint64_t at = segment_.head.header.collection_index_offset;
  const std::uint64_t length = segment_.file->size() - at;
  for (std::uint32_t id = 0; id < entries.size(); ++id) {
    const CollectionIndex::Entry& entry = entries[id];
    const auto differ = [&](const char* message, std::uint64_t expected, std::uint64_t actual) {
      Finding finding = mismatch(at, length, "collection index",
                                 std::string(message) + std::string(entry.name), expected, actual);
      finding.index = id;
      findings.add(std::move(finding));
    };
    if (const std::uint32_t first = ids_.at(entry.name); first != id) {
      differ("a name stands twice in the collection table: ", first, id);
    } else if (!name_occurs_[id]) {
      differ("a name of the collection table is in no row: ", 1, 0);
    } else if (name_rows_[id] != entry.count) {
      differ("a collection's count is not the number of its rows: ", entry.count, name_rows_[id]);
    }
  }
}

// What only a stricter checker asks: all of it is accepted by the reference.
void DeepVerifier::finish_strict(FindingSink& findings) {
  const Header& h = segment_.head.header;
  const Footer& footer = *segment_.footer;
  const std::string& name = segment_.file->name();
  const auto warn = [&](Severity severity, const char* code, std::uint64_t offset,
                        std::uint64_t length, const char* unit, const char* message,
                        std::uint64_t expected, std::uint64_t actual) {
    findings.add(
        strict_finding(severity, code, name, offset, length, unit, message, expected, actual));
  };
  std::uint64_t index_rows = 0;
  std::uint64_t frames_end = k_first_frame_offset;
  for (const IndexEntry& e : *footer.index) {
    index_rows += e.event_count;
    frames_end = e.offset + k_length_prefix_bytes + e.compressed_size;
  }
  if (index_rows != h.event_count) {
    warn(Severity::warning, "header-sum-differs", 0, k_header_bytes, "header",
         "the header's event_count is not the sum over the block index", index_rows, h.event_count);
  }
  if (frames_end != h.footer_offset) {
    warn(Severity::warning, "bytes-between-frames", frames_end, h.footer_offset - frames_end,
         "hole", "bytes between the last frame and the footer", frames_end, h.footer_offset);
  }
  const std::uint64_t index_end = h.footer_offset + k_index_entry_bytes * h.block_count;
  if (index_end != h.did_bloom_offset) {
    warn(Severity::warning, "sections-not-gapless", index_end, h.did_bloom_offset - index_end,
         "hole", "bytes between the block index and the segment's bloom", index_end,
         h.did_bloom_offset);
  }
  if (!complete_ || !dids_complete_) {
    return;
  }
  if (footer.did_bloom && footer.did_bloom->count() != dids_.size()) {
    warn(Severity::warning, "bloom-count-differs", h.did_bloom_offset,
         h.block_did_bloom_offset - h.did_bloom_offset, "segment bloom",
         "the segment's bloom says another number of DIDs than the segment has", dids_.size(),
         footer.did_bloom->count());
  }
  const std::uint64_t usual = bloom_parameters(std::max<std::uint64_t>(most_dids_, 1)).blob_bytes();
  if (h.block_count != 0 && footer.bloom_size_bytes != usual) {
    warn(Severity::note, "bloom-size-unusual", h.block_did_bloom_offset,
         k_bloom_region_header_bytes, "block blooms",
         "the blocks' blooms have another size than today's writers give them", usual,
         footer.bloom_size_bytes);
  }
}

}  // namespace varve::jss
