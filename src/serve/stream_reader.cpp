// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/stream_reader.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace varve::serve {

void StreamReader::begin(StreamTail::View view, jss::RowQuery query) {
  view_ = std::move(view);
  query_ = std::move(query);
  begun_ = true;
  position_ = 0;
  segment_.reset();
}

Result<const jss::BlockColumns*> StreamReader::next() {
  for (;;) {
    if (!segment_ || at_ == blocks_.size()) {
      auto opened = open_next();
      if (!opened || !*opened) {
        begun_ = false;
        if (!opened) {
          return std::unexpected(std::move(opened).error());
        }
        return nullptr;
      }
      continue;
    }
    const std::uint32_t ordinal = blocks_[at_++];
    const jss::FrameRef& frame = frames_[ordinal];
    auto fault = reader_.read(*segment_, frame, ordinal, block_);
    if (!fault || *fault) {
      begun_ = false;
      return std::unexpected(fault ? to_error(**fault) : std::move(fault).error());
    }
    const jss::BlockColumns& columns = block_.columns;
    if (columns.rows == 0) {
      continue;
    }
    const std::uint64_t last = *std::max_element(columns.seq, columns.seq + columns.rows);
    if (!segment_->footer) {
      mark_ = Mark{segment_->file->identity(), frame.end(), last};
    }
    if (last >= query_.seq_first.value_or(0)) {
      return &columns;
    }
  }
}

Result<bool> StreamReader::open_next() {
  segment_.reset();
  while (position_ < view_.segments->size()) {
    const StreamSegment& segment = (*view_.segments)[position_++];
    if (segment.believed && jss::skip_by_header(segment.header, query_) != jss::SkipReason::none) {
      continue;
    }
    VARVE_TRY(select(segment));
    return true;
  }
  return false;
}

Result<void> StreamReader::select(const StreamSegment& segment) {
  VARVE_ASSIGN(auto opened, archive_.open(segment));
  jss::WalkOptions options;
  options.policy = jss::WalkPolicy::strict;
  options.live = true;
  if (mark_ && mark_->file.same_object(opened->file->identity()) &&
      mark_->offset <= opened->file->size() && mark_->seq < query_.seq_first.value_or(0)) {
    options.from = mark_->offset;
  }
  VARVE_ASSIGN(jss::SegmentWalk walk,
               jss::walk_segment(*opened->file, opened->head, opened->footer.get(), options));
  if (opened->trusted()) {
    VARVE_ASSIGN(jss::BlockSelection selection, jss::select_blocks(*opened, query_));
    blocks_ = std::move(selection.blocks);
  } else {
    blocks_.resize(walk.frames.size());
    std::iota(blocks_.begin(), blocks_.end(), 0U);
  }
  frames_ = std::move(walk.frames);
  at_ = 0;
  segment_ = std::move(opened);
  return {};
}

Result<std::optional<std::uint64_t>> find_time(const StreamArchive& archive,
                                               const StreamTail::View& view, std::uint64_t seq,
                                               std::int64_t time) {
  jss::RowQuery query;
  query.seq_first = seq;
  query.since_us = time;
  StreamReader reader(archive);
  reader.begin(view, std::move(query));
  for (;;) {
    VARVE_ASSIGN(const jss::BlockColumns* const columns, reader.next());
    if (columns == nullptr) {
      return std::nullopt;
    }
    for (std::uint32_t row = 0; row < columns->rows; ++row) {
      if (columns->seq[row] >= seq && columns->witnessed_at[row] >= time) {
        return columns->seq[row];
      }
    }
  }
}

}  // namespace varve::serve
