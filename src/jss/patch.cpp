// SPDX-License-Identifier: MIT OR Apache-2.0
// Setting indexed_at of chosen rows (section 14.4). Only that column changes, so that the bodies
// keep their size and everything behind the block index its bytes.
#include <algorithm>
#include <utility>

#include "jss/rewrite.hpp"
#include "jss/segment_directory.hpp"
#include "varve/jss_compact.hpp"

namespace varve::jss {

namespace {

using Patches = std::span<const IndexedAtPatch>;

// The patches with a seq in [first, last].
Patches within(Patches patches, std::uint64_t first, std::uint64_t last) {
  const auto from = std::ranges::lower_bound(patches, first, {}, &IndexedAtPatch::seq);
  const auto to = std::ranges::upper_bound(patches, last, {}, &IndexedAtPatch::seq);
  return from < to ? Patches(from, to) : Patches();
}

struct Counts {
  std::uint64_t changed = 0;
  std::uint64_t equal = 0;
};

// Sets the column in the body of a decoded block; the columns view the body.
Counts patch_body(BlockWork& work, Patches patches) {
  Counts counts;
  const BlockColumns& c = work.block.columns;
  std::byte* const body = work.block.body.data();
  for (std::size_t row = 0; row < c.rows; ++row) {
    const auto at = std::ranges::lower_bound(patches, c.seq[row], {}, &IndexedAtPatch::seq);
    if (at == patches.end() || at->seq != c.seq[row]) {
      continue;
    }
    if (c.indexed_at[row] == at->indexed_at) {
      ++counts.equal;
      continue;
    }
    const std::size_t offset = k_body_count_bytes + (2 * std::size_t{c.rows} + row) * 8;
    base::store_le(body + offset, static_cast<std::uint64_t>(at->indexed_at));
    ++counts.changed;
  }
  return counts;
}

// The sections behind the block index, byte for byte.
Result<base::Bytes> sections_behind_index(const HeldSegment& held) {
  const Header& header = held.header();
  const SegmentFile& file = *held.segment->file;
  base::Bytes out(static_cast<std::size_t>(file.size() - header.did_bloom_offset));
  VARVE_TRY(file.read(out, header.did_bloom_offset));
  return out;
}

class Patcher {
 public:
  Patcher(io::FileSystem& files, const std::string& path, Patches patches, unsigned threads)
      : files_(files), path_(path), patches_(patches), threads_(threads) {}

  Result<PatchReport> run() {
    const auto descends = [](const IndexedAtPatch& a, const IndexedAtPatch& b) {
      return a.seq >= b.seq;
    };
    if (std::ranges::adjacent_find(patches_, descends) != patches_.end()) {
      return fail(ErrorCode::invalid_argument, "seq", "the patches do not ascend in seq");
    }
    VARVE_ASSIGN(place_, open_place(files_, path_));
    if (place_.is_archive()) {
      VARVE_TRY(remove_temporaries(*place_.directory, false));
    }
    VARVE_ASSIGN(archive_, Archive::open(files_, path_));
    if (auto overlap = archive_->overlap()) {
      return std::unexpected(*std::move(overlap));
    }
    for (std::size_t i = 0; i < archive_->members().size(); ++i) {
      if (archive_->members()[i].head.state != SegmentState::active) {
        VARVE_TRY(patch(i));
      }
    }
    report_.rows_missing = patches_.size() - report_.rows_changed - report_.rows_equal;
    return std::move(report_);
  }

 private:
  Result<void> patch(std::size_t member) {
    const Header& header = archive_->members()[member].head.header;
    if (within(patches_, header.min_seq, header.max_seq).empty()) {
      VARVE_ASSIGN(const bool believed, archive_->hash_holds(member));
      if (believed) {
        return {};
      }
    }
    VARVE_ASSIGN(const HeldSegment held, hold_segment(*archive_, member, *place_.directory, true));
    if (held.header().did_bloom_offset !=
        held.header().footer_offset + held.blocks() * k_index_entry_bytes) {
      Error error;
      error.code = ErrorCode::damaged;
      error.path = held.segment->file->path();
      error.reason = k_invalid_footer;
      error.message = "the block index does not end where the segment bloom begins";
      return std::unexpected(std::move(error));
    }
    // First only find out. Rows that have their value already are counted here.
    std::vector<std::uint32_t> blocks = all_blocks(held);
    std::erase_if(blocks, [&](std::uint32_t block) {
      const IndexEntry& entry = held.segment->entry(block);
      return entry.event_count == 0 || within(patches_, entry.min_seq, entry.max_seq).empty();
    });
    std::vector<std::uint32_t> changed;
    RewrittenSegment report;
    std::uint64_t rows = 0;
    VARVE_TRY(each_block(
        *held.segment, blocks, threads_, [](BlockWork&, base::ZstdEncoder&) {},
        [&](BlockWork& work) -> Result<bool> {
          const Counts counts = patch_body(work, patches_);
          rows += counts.changed;
          report_.rows_equal += counts.equal;
          if (counts.changed != 0) {
            changed.push_back(static_cast<std::uint32_t>(work.index));
          }
          return true;
        }));
    if (changed.empty()) {
      return {};
    }
    report.name = archive_->members()[member].name;
    report.bytes_before = held.segment->file->size();
    report.blocks_changed = changed.size();
    VARVE_ASSIGN(report.bytes_after, write_anew(held, archive_->members()[member].label, changed));
    report_.rows_changed += rows;
    report_.rewritten.push_back(std::move(report));
    return {};
  }

  Result<std::uint64_t> write_anew(const HeldSegment& held, const std::string& name,
                                   const std::vector<std::uint32_t>& changed) {
    VARVE_ASSIGN(auto staged, StagedSegment::create(*place_.directory, name));
    std::vector<IndexEntry> entries = *held.segment->footer->index;
    std::size_t next = 0;  // first block that is not in the new file yet
    const auto copy_until = [&](std::size_t end) -> Result<void> {
      for (; next < end; ++next) {
        VARVE_TRY(copy_frame(held, staged, entries[next]));
      }
      return {};
    };
    auto moved = each_block(
        *held.segment, changed, threads_,
        [&](BlockWork& work, base::ZstdEncoder& encoder) {
          patch_body(work, patches_);
          press_body(work.block.body.span(), encoder, work.pressed.bytes);
        },
        [&](BlockWork& work) -> Result<bool> {
          VARVE_TRY(copy_until(work.index));
          entries[next].offset = staged.end();
          entries[next].compressed_size =
              static_cast<std::uint32_t>(work.pressed.bytes.size() - k_length_prefix_bytes);
          ++next;
          VARVE_TRY(staged.add(work.pressed.bytes));
          return true;
        });
    VARVE_TRY(moved);
    VARVE_TRY(copy_until(entries.size()));
    return publish(held, staged, entries);
  }

  // Copies a frame unchanged, behind a length prefix that is right.
  static Result<void> copy_frame(const HeldSegment& held, StagedSegment& staged,
                                 IndexEntry& entry) {
    base::Bytes bytes(k_length_prefix_bytes + std::size_t{entry.compressed_size});
    VARVE_TRY(held.segment->file->read(bytes, entry.offset));
    base::store_le(bytes.data(), std::uint64_t{entry.compressed_size});
    entry.offset = staged.end();
    return staged.add(bytes);
  }

  static Result<std::uint64_t> publish(const HeldSegment& held, StagedSegment& staged,
                                       const std::vector<IndexEntry>& entries) {
    VARVE_ASSIGN(const base::Bytes behind, sections_behind_index(held));
    base::Bytes footer;
    for (const IndexEntry& entry : entries) {
      append_index_entry(footer, entry);
    }
    footer.insert(footer.end(), behind.begin(), behind.end());
    Header header = held.header();
    const std::uint64_t old_footer = header.footer_offset;
    for (std::uint64_t* offset :
         {&header.footer_offset, &header.block_index_offset, &header.did_bloom_offset,
          &header.block_did_bloom_offset, &header.collection_index_offset}) {
      *offset = *offset - old_footer + staged.end();
    }
    header.checksum = metadata_checksum(encode_header(header), footer);
    return staged.publish(footer, encode_header(header));
  }

  io::FileSystem& files_;
  const std::string& path_;
  Patches patches_;
  unsigned threads_;
  StorePlace place_;
  std::unique_ptr<Archive> archive_;
  PatchReport report_;
};

}  // namespace

Result<PatchReport> patch_indexed_at(io::FileSystem& files, const std::string& path,
                                     std::span<const IndexedAtPatch> patches, unsigned threads) {
  return Patcher(files, path, patches, threads).run();
}

}  // namespace varve::jss
