// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/rewrite.hpp"

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <utility>

#include "base/pipeline.hpp"
#include "jss/names.hpp"

namespace varve::jss {

namespace {

constexpr std::size_t k_write_bytes = std::size_t{4} << 20;

std::unexpected<Error> refused(const SegmentFile& file, std::string reason, std::uint64_t offset,
                               std::uint64_t length, std::string unit, std::string message) {
  Error error;
  error.code = ErrorCode::damaged;
  error.path = file.path();
  error.offset = offset;
  error.length = length;
  error.unit = std::move(unit);
  error.reason = std::move(reason);
  error.message = std::move(message);
  return std::unexpected(std::move(error));
}

// Reads one block and decodes it.
Result<void> load(const SegmentFile& file, FrameDecoder& decoder, BlockWork& work) {
  const IndexEntry& entry = work.entry;
  const std::size_t bytes = k_length_prefix_bytes + std::size_t{entry.compressed_size};
  const auto damaged = [&](const char* reason, std::string message) {
    return refused(file, reason, entry.offset, bytes, "block", std::move(message));
  };
  work.frame.resize(bytes);
  VARVE_TRY(file.read(work.frame, entry.offset));
  // No indexed reader looks at the prefix; a new file gets a right one.
  base::store_le(work.frame.data(), std::uint64_t{entry.compressed_size});
  const base::ByteSpan frame = base::ByteSpan(work.frame).subspan(k_length_prefix_bytes);
  if (const auto fault = decoder.decode(frame, k_max_body_bytes, work.block)) {
    VARVE_TRY(file.still_whole());
    return damaged(k_decode, std::string("the block does not decode: ") + fault->word);
  }
  if (work.block.columns.rows != entry.event_count) {
    return damaged(k_verify_mismatch, "the block has " + std::to_string(work.block.columns.rows) +
                                          " rows, its index entry says " +
                                          std::to_string(entry.event_count));
  }
  return {};
}

}  // namespace

Result<HeldSegment> hold_segment(Archive& archive, std::size_t member, const io::Directory& home,
                                 bool lock) {
  HeldSegment held;
  if (lock) {
    VARVE_ASSIGN(held.lock, home.open_file(archive.members()[member].label, io::OpenMode::read));
    VARVE_TRY(held.lock->lock(io::LockKind::exclusive));
  }
  VARVE_ASSIGN(held.segment, archive.open_segment(member, k_max_body_bytes, true));
  const SegmentFile& file = *held.segment->file;
  if (!held.segment->trusted()) {
    if (held.segment->findings.empty()) {
      return refused(file, k_corrupt_segment, 0, 0, "header", "the segment is not sealed");
    }
    const Finding& first = held.segment->findings.front();
    return refused(file, first.code, first.offset, first.length, first.unit, first.message);
  }
  if (held.lock) {
    // Another rewriter may have put a new file there between the two openings.
    VARVE_ASSIGN(const io::FileIdentity locked, held.lock->identity());
    if (!locked.same_object(file.identity())) {
      return fail(ErrorCode::locked, "changed", "another rewriter is at work", file.path());
    }
  }
  return held;
}

Result<StagedSegment> StagedSegment::create(io::Directory& home, const std::string& name) {
  const std::string staging = name + std::string(k_temporary_suffix);
  if (auto removed = home.remove_file(staging);
      !removed && removed.error().system_errno != ENOENT) {
    return std::unexpected(std::move(removed).error());
  }
  VARVE_ASSIGN(auto staged, io::StagedFile::create(home, staging));
  // So that nobody who cleans up takes it for a leftover.
  VARVE_TRY(staged.file().lock(io::LockKind::exclusive));
  StagedSegment out(name, std::move(staged));
  const HeaderBytes placeholder = active_header();
  out.pending_.assign(placeholder.begin(), placeholder.end());
  return out;
}

Result<void> StagedSegment::write() {
  if (!pending_.empty()) {
    VARVE_TRY(staged_.file().write_at(pending_, written_));
    written_ += pending_.size();
    pending_.clear();
  }
  return {};
}

Result<void> StagedSegment::add(base::ByteSpan prefix_and_frame) {
  pending_.insert(pending_.end(), prefix_and_frame.begin(), prefix_and_frame.end());
  end_ += prefix_and_frame.size();
  return pending_.size() >= k_write_bytes ? write() : Result<void>();
}

Result<std::uint64_t> StagedSegment::publish(base::ByteSpan footer, const HeaderBytes& header) {
  pending_.insert(pending_.end(), footer.begin(), footer.end());
  VARVE_TRY(write());
  VARVE_TRY(staged_.file().write_at(header, 0));
  VARVE_TRY(staged_.publish(name_, io::Replace::yes));
  return written_;
}

Result<void> each_block(const OpenSegment& segment, const std::vector<std::uint32_t>& blocks,
                        unsigned threads, const Transform& transform, const Collect& collect) {
  using Item = std::unique_ptr<BlockWork>;
  threads = base::thread_count(threads);
  std::vector<FrameDecoder> decoders(threads);
  std::vector<base::ZstdEncoder> encoders;
  for (unsigned i = 0; i < threads; ++i) {
    encoders.emplace_back(k_compression_level);
  }
  std::vector<Item> idle;
  std::size_t next = 0;
  Result<void> outcome;
  struct Loaded {
    Item work;
    Result<void> read;
  };
  base::run_ordered_pipeline<Loaded>(
      threads, 2 * threads,
      [&]() -> std::optional<Loaded> {
        if (next == blocks.size()) {
          return std::nullopt;
        }
        Loaded item;
        if (idle.empty()) {
          item.work = std::make_unique<BlockWork>();
        } else {
          item.work = std::move(idle.back());
          idle.pop_back();
        }
        item.work->index = blocks[next++];
        item.work->entry = segment.entry(item.work->index);
        item.work->changed = false;
        return item;
      },
      [&](Loaded& item, unsigned worker) {
        item.read = load(*segment.file, decoders[worker], *item.work);
        if (item.read) {
          transform(*item.work, encoders[worker]);
        }
      },
      [&](Loaded& item) {
        if (!item.read) {
          outcome = std::move(item.read);
          return false;
        }
        auto more = collect(*item.work);
        idle.push_back(std::move(item.work));
        if (!more) {
          outcome = std::unexpected(std::move(more).error());
          return false;
        }
        return *more;
      });
  return outcome;
}

std::vector<std::uint32_t> all_blocks(const HeldSegment& held) {
  std::vector<std::uint32_t> out(held.blocks());
  std::iota(out.begin(), out.end(), 0U);
  return out;
}

}  // namespace varve::jss
