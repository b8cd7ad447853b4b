// SPDX-License-Identifier: MIT OR Apache-2.0
// A compaction pass (section 14.3): tombstones folded from the sealed segments, then every segment
// rewritten that holds rows which they supersede.
#include <algorithm>
#include <utility>

#include "base/pipeline.hpp"
#include "jss/compaction_note.hpp"
#include "jss/rewrite.hpp"
#include "jss/segment_directory.hpp"
#include "jss/tombstones.hpp"
#include "varve/jss_compact.hpp"

namespace varve::jss {

namespace {

// Beyond so many accounts asking blooms for each costs more than it saves.
constexpr std::size_t k_max_narrowing_accounts = 100'000;
constexpr unsigned k_max_segments_at_a_time = 8;

std::uint64_t dropped_rows(const BlockWork& work) {
  return work.entry.event_count - work.pressed.entry.event_count;
}

class Pass {
 public:
  Pass(io::FileSystem& files, const std::string& path, const CompactionOptions& options)
      : files_(files), path_(path), options_(options) {}

  Result<CompactionReport> run() {
    VARVE_ASSIGN(place_, open_place(files_, path_));
    if (place_.is_archive()) {
      VARVE_TRY(remove_temporaries(*place_.directory, options_.dry_run));
    }
    VARVE_TRY(open_archive());
    VARVE_TRY(find_window());
    for (std::size_t next = 0; next < archive_->members().size();) {
      tombstones_.clear();
      VARVE_ASSIGN(next, fold_chunk(next));
      report_.tombstones += tombstones_.size();
      if (tombstones_.size() != 0) {
        VARVE_TRY(rewrite_before(next));
      }
    }
    if (place_.is_archive() && !options_.dry_run && report_.watermark > report_.watermark_before) {
      VARVE_TRY(note_compaction(*place_.directory, report_.watermark));
    }
    return std::move(report_);
  }

 private:
  Result<void> open_archive() {
    VARVE_ASSIGN(archive_, Archive::open(files_, path_));
    for (const Member& member : archive_->members()) {
      if (member.head.fault) {
        Error error = to_error(*member.head.fault);
        error.path = member.name.empty() ? path_ : member.name;
        return std::unexpected(std::move(error));
      }
    }
    if (auto overlap = archive_->overlap()) {
      return std::unexpected(*std::move(overlap));
    }
    archive_->forget_active();
    return {};
  }

  Result<void> find_window() {
    if (options_.watermark) {
      report_.watermark_before = *options_.watermark;
    } else if (place_.is_archive()) {
      VARVE_ASSIGN(report_.watermark_before, noted_watermark(*place_.directory));
    }
    report_.watermark = report_.watermark_before;
    for (const Member& member : archive_->members()) {
      if (member.head.header.event_count != 0) {
        report_.watermark = std::max(report_.watermark, member.head.header.max_seq);
      }
    }
    return {};
  }

  // Folds the tombstones of segments from `first` on, until there are enough of them at the end of
  // one. Gives the segment behind it.
  Result<std::size_t> fold_chunk(std::size_t first) {
    std::size_t next = first;
    while (next < archive_->members().size() && tombstones_.size() < options_.max_tombstones) {
      VARVE_TRY(fold(next++));
    }
    return next;
  }

  Result<void> fold(std::size_t member) {
    const Header& header = archive_->members()[member].head.header;
    if (header.event_count == 0 || header.max_seq <= report_.watermark_before) {
      // Believed only once the checksum holds.
      VARVE_ASSIGN(const bool believed, archive_->hash_holds(member));
      if (believed) {
        return {};
      }
    }
    VARVE_ASSIGN(const HeldSegment held, hold_segment(*archive_, member, *place_.directory, false));
    std::vector<std::uint32_t> blocks = all_blocks(held);
    std::erase_if(blocks, [&](std::uint32_t block) {
      const IndexEntry& entry = held.segment->entry(block);
      return entry.event_count == 0 || entry.max_seq <= report_.watermark_before;
    });
    return each_block(
        *held.segment, blocks, options_.threads, [](BlockWork&, base::ZstdEncoder&) {},
        [&](BlockWork& work) -> Result<bool> {
          const BlockColumns& c = work.block.columns;
          for (std::size_t row = 0; row < c.rows; ++row) {
            if (c.seq[row] > report_.watermark_before) {
              tombstones_.add(c.seq[row], c.kind[row], c.did.at(row), c.collection.at(row),
                              c.rkey.at(row), c.payload.at(row));
            }
          }
          return true;
        });
  }

  // Rewrites what needs it among the first `count` segments: whatever this chunk supersedes lies
  // before its end. Several at a time.
  Result<void> rewrite_before(std::size_t count) {
    const std::vector<BloomKey> accounts = tombstones_.accounts(k_max_narrowing_accounts);
    const unsigned threads = base::thread_count(options_.threads);
    const auto at_a_time = static_cast<unsigned>(std::min<std::size_t>(
        {threads, k_max_segments_at_a_time, std::max<std::size_t>(count, 1)}));
    threads_a_segment_ = std::max(1U, threads / at_a_time);
    struct Job {
      std::size_t member = 0;
      Result<std::optional<RewrittenSegment>> outcome;
    };
    std::size_t next = 0;
    Result<void> outcome;
    base::run_ordered_pipeline<Job>(
        at_a_time, at_a_time,
        [&]() -> std::optional<Job> {
          return next == count ? std::nullopt : std::optional(Job{next++, {}});
        },
        [&](Job& job, unsigned) { job.outcome = rewrite(job.member, accounts); },
        [&](Job& job) {
          ++report_.segments_examined;
          if (!job.outcome) {
            outcome = std::unexpected(std::move(job.outcome).error());
            return false;
          }
          if (*job.outcome) {
            report_.rewritten.push_back(**std::move(job.outcome));
          }
          return true;
        });
    return outcome;
  }

  // The blocks of a segment that may hold rows of the accounts concerned.
  static Result<std::vector<std::uint32_t>> candidates(const HeldSegment& held,
                                                       const std::vector<BloomKey>& accounts) {
    std::vector<std::uint32_t> blocks = all_blocks(held);
    std::erase_if(blocks, [&](std::uint32_t b) { return held.segment->entry(b).event_count == 0; });
    if (accounts.empty()) {
      return blocks;
    }
    const Footer& footer = *held.segment->footer;
    const auto concerns = [&](const BloomView& bloom) {
      return std::ranges::any_of(accounts,
                                 [&](const BloomKey& key) { return bloom.may_contain(key); });
    };
    if (footer.did_bloom && !concerns(*footer.did_bloom)) {
      return std::vector<std::uint32_t>();
    }
    std::vector<std::uint32_t> out;
    base::Bytes blob(footer.bloom_size_bytes);
    for (const std::uint32_t block : blocks) {
      VARVE_TRY(held.segment->file->read(blob, block_bloom_offset(held.header(), footer, block)));
      const auto bloom = BloomView::parse(blob);
      if (!bloom || concerns(*bloom)) {
        out.push_back(block);
      }
    }
    return out;
  }

  bool superseded(const BlockColumns& c, std::size_t row) const {
    return tombstones_.supersedes(c.seq[row], c.kind[row], c.did.at(row), c.collection.at(row),
                                  c.rkey.at(row));
  }

  // Makes the block anew without the rows that are superseded, if there are any.
  void drop_rows(BlockWork& work, base::ZstdEncoder& encoder) const {
    const BlockColumns& c = work.block.columns;
    std::size_t first = 0;
    while (first < c.rows && !superseded(c, first)) {
      ++first;
    }
    if (first == c.rows) {
      return;
    }
    work.rows.clear();
    for (std::size_t row = 0; row < c.rows; ++row) {
      if (row < first || (row > first && !superseded(c, row))) {
        // A row that was decoded can be held.
        (void)work.rows.append(event_at(c, row));
      }
    }
    press_block(work.rows, encoder, work.scratch, work.pressed);
    work.changed = true;
  }

  Result<std::optional<RewrittenSegment>> rewrite(std::size_t member,
                                                  const std::vector<BloomKey>& accounts) {
    if (archive_->members()[member].head.header.event_count == 0) {
      return std::optional<RewrittenSegment>();
    }
    VARVE_ASSIGN(const StorePlace home, open_place(files_, path_));
    VARVE_ASSIGN(const HeldSegment held,
                 hold_segment(*archive_, member, *home.directory, !options_.dry_run));
    VARVE_ASSIGN(const auto blocks, candidates(held, accounts));
    RewrittenSegment report;
    report.name = archive_->members()[member].name;
    report.bytes_before = held.segment->file->size();
    // First only find out; most segments are left alone. A rehearsal counts.
    VARVE_TRY(each_block(
        *held.segment, blocks, threads_a_segment_,
        [&](BlockWork& work, base::ZstdEncoder& encoder) { drop_rows(work, encoder); },
        [&](BlockWork& work) -> Result<bool> {
          count(work, report);
          return options_.dry_run || !work.changed;
        }));
    if (report.blocks_changed == 0) {
      return std::optional<RewrittenSegment>();
    }
    if (!options_.dry_run) {
      report.blocks_changed = report.blocks_emptied = report.rows_dropped = 0;
      VARVE_ASSIGN(report.bytes_after,
                   write_anew(held, *home.directory, archive_->members()[member].label, report));
    }
    return std::optional(std::move(report));
  }

  static void count(const BlockWork& work, RewrittenSegment& report) {
    if (work.changed) {
      ++report.blocks_changed;
      report.blocks_emptied += work.pressed.entry.event_count == 0 ? 1 : 0;
      report.rows_dropped += dropped_rows(work);
    }
  }

  Result<std::uint64_t> write_anew(const HeldSegment& held, io::Directory& home,
                                   const std::string& name, RewrittenSegment& report) const {
    VARVE_ASSIGN(auto staged, StagedSegment::create(home, name));
    SegmentSummary summary;
    auto moved = each_block(
        *held.segment, all_blocks(held), threads_a_segment_,
        [&](BlockWork& work, base::ZstdEncoder& encoder) {
          drop_rows(work, encoder);
          if (!work.changed) {
            work.summary.summarize(work.block.columns);
          }
        },
        [&](BlockWork& work) -> Result<bool> {
          count(work, report);
          IndexEntry entry = work.entry;  // the bounds stay
          entry.offset = staged.end();
          if (work.changed) {
            entry.compressed_size = work.pressed.entry.compressed_size;
            entry.uncompressed_size = work.pressed.entry.uncompressed_size;
            entry.event_count = work.pressed.entry.event_count;
          }
          summary.add(work.changed ? work.pressed.summary : work.summary, entry);
          VARVE_TRY(staged.add(work.changed ? work.pressed.bytes : work.frame));
          return true;
        });
    VARVE_TRY(moved);
    const Header& old = held.header();
    const Envelope envelope{old.min_seq, old.max_seq, old.min_witnessed_at, old.max_witnessed_at};
    base::ZstdEncoder encoder(k_compression_level);
    VARVE_ASSIGN(const SealedParts parts, encode_footer(summary, staged.end(), envelope, encoder));
    return staged.publish(parts.footer, parts.header_bytes);
  }

  io::FileSystem& files_;
  const std::string& path_;
  const CompactionOptions& options_;
  StorePlace place_;
  std::unique_ptr<Archive> archive_;
  Tombstones tombstones_;
  unsigned threads_a_segment_ = 1;
  CompactionReport report_;
};

}  // namespace

Result<CompactionReport> compact(io::FileSystem& files, const std::string& path,
                                 const CompactionOptions& options) {
  return Pass(files, path, options).run();
}

}  // namespace varve::jss
