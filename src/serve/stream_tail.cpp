// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/stream_tail.hpp"

#include <algorithm>
#include <utility>

namespace varve::serve {

namespace {

// The time of a directory or file is coarse: a change right after a look may leave it as it was, so
// that some more looks follow each change.
constexpr int k_looks_after_change = 2;

jss::WalkOptions live_walk(std::uint64_t from) {
  jss::WalkOptions options;
  options.policy = jss::WalkPolicy::strict;
  options.from = from;
  options.live = true;
  return options;
}

}  // namespace

StreamTail::~StreamTail() {
  thread_.request_stop();
  news_.notify_all();
}

Result<void> StreamTail::start() {
  {
    const std::lock_guard lock(look_mutex_);
    VARVE_TRY(find_end());
  }
  thread_ = std::jthread([this](const std::stop_token& stop) {
    std::mutex idle;
    std::condition_variable_any wake;
    while (!stop.stop_requested()) {
      {
        const std::lock_guard lock(look_mutex_);
        note(look());
      }
      std::unique_lock lock(idle);
      wake.wait_for(lock, stop, options_.poll, [] { return false; });
    }
  });
  return {};
}

Result<StreamTail::View> StreamTail::look_now() {
  for (;;) {
    {
      const std::lock_guard lock(look_mutex_);
      looks_due_ = std::max(looks_due_, 1);
      auto looked = look();
      note(looked);
      if (looked) {
        return view();
      }
      const std::lock_guard held(mutex_);
      if (error_) {
        return std::unexpected(*error_);
      }
    }
    // A look may meet a header that is being written; it fails only if that lasts.
    std::this_thread::sleep_for(options_.poll);
  }
}

StreamTail::View StreamTail::view() const {
  const std::lock_guard lock(mutex_);
  return {segments_, next_seq_};
}

StreamTail::News StreamTail::next(std::uint64_t seq, std::chrono::milliseconds wait) {
  std::unique_lock lock(mutex_);
  news_.wait_for(lock, wait, [&] { return seq < next_seq_ || error_; });
  News out;
  if (seq < kept_from_) {
    out.kind = News::Kind::behind;
    return out;
  }
  const auto found =
      std::ranges::partition_point(kept_, [&](const auto& block) { return block->last_seq < seq; });
  if (found != kept_.end()) {
    out.kind = News::Kind::block;
    out.block = *found;
  } else if (error_) {
    out.kind = News::Kind::failed;
    out.error = error_;
  }
  return out;
}

void StreamTail::note(const Result<void>& looked) {
  const auto now = std::chrono::steady_clock::now();
  if (looked) {
    failing_since_.reset();
  } else if (!failing_since_) {
    failing_since_ = now;
  }
  const bool failed = failing_since_ && now - *failing_since_ >= options_.patience;
  {
    const std::lock_guard lock(mutex_);
    error_ = failed ? std::optional(looked.error()) : std::nullopt;
  }
  if (failed) {
    news_.notify_all();
  }
}

Result<bool> StreamTail::changed() {
  VARVE_ASSIGN(const std::int64_t directory_ns, archive_.changed_ns());
  bool news = directory_ns != changed_ns_ || failing_since_;
  changed_ns_ = directory_ns;
  if (current_) {
    VARVE_ASSIGN(const io::FileIdentity now, current_->file->file().identity());
    news =
        news || now.size_bytes != current_->file->size() || now.modified_ns != current_changed_ns_;
    current_changed_ns_ = now.modified_ns;
  }
  if (news) {
    looks_due_ = 1 + k_looks_after_change;
  }
  looks_due_ = std::max(looks_due_ - 1, -1);
  return looks_due_ >= 0;
}

Result<void> StreamTail::look() {
  VARVE_ASSIGN(const bool worth_it, changed());
  if (!worth_it) {
    return {};
  }
  StreamSegments before;
  {
    const std::lock_guard lock(mutex_);
    before = segments_;
  }
  // The listing comes first: what it shows behind a segment was made after that one was sealed.
  VARVE_ASSIGN(const StreamSegments segments, archive_.look(before));
  {
    const std::lock_guard lock(mutex_);
    segments_ = segments;
  }
  return read_on(*segments);
}

Result<void> StreamTail::find_end() {
  VARVE_ASSIGN(segments_, archive_.look(nullptr));
  std::uint64_t last = last_sealed_seq(*segments_);
  if (!segments_->empty()) {
    const StreamSegment& end = segments_->back();
    VARVE_TRY(open_segment(end));
    VARVE_ASSIGN(const auto walk,
                 jss::walk_segment(*current_->file, current_->head, current_->footer.get(),
                                   live_walk(jss::k_first_frame_offset)));
    if (current_->head.state == jss::SegmentState::active) {
      // The last rows tell where the numbers go on.
      jss::Block block;
      for (std::size_t at = walk.frames.size(); at-- > 0 && block.columns.rows == 0;) {
        VARVE_ASSIGN(const auto fault, reader_.read(*current_, walk.frames[at], at, block));
        if (fault) {
          return std::unexpected(to_error(*fault));
        }
        for (std::uint32_t row = 0; row < block.columns.rows; ++row) {
          last = std::max(last, block.columns.seq[row]);
        }
      }
    }
    offset_ = walk.frames_end;
  }
  next_seq_ = last + 1;
  kept_from_ = next_seq_;
  looks_due_ = 1 + k_looks_after_change;
  return {};
}

Result<void> StreamTail::open_segment(const StreamSegment& segment) {
  VARVE_ASSIGN(current_, archive_.open(segment));
  current_number_ = segment.number;
  current_changed_ns_ = current_->file->identity().modified_ns;
  offset_ = jss::k_first_frame_offset;
  return {};
}

Result<void> StreamTail::read_on(const std::vector<StreamSegment>& segments) {
  for (;;) {
    if (!current_) {
      const auto following = std::ranges::find_if(segments, [&](const StreamSegment& segment) {
        return !done_ || segment.number > *done_;
      });
      if (following == segments.end()) {
        return {};
      }
      VARVE_TRY(open_segment(*following));
    }
    VARVE_ASSIGN(const bool done, read_segment(segments));
    if (!done) {
      return {};
    }
    done_ = current_number_;
    current_.reset();
  }
}

Result<bool> StreamTail::read_segment(const std::vector<StreamSegment>& segments) {
  VARVE_TRY(current_->file->observe_end());
  if (!current_->footer) {
    VARVE_ASSIGN(current_->head, jss::read_head(*current_->file));
  }
  if (current_->head.fault) {
    return std::unexpected(to_error(*current_->head.fault));
  }
  const bool sealed = current_->head.state == jss::SegmentState::sealed;
  if (sealed && !current_->footer) {
    VARVE_TRY(read_footer());
  }
  if (!sealed) {
    VARVE_TRY(follow_replacement(segments));
  }
  VARVE_ASSIGN(const auto walk, jss::walk_segment(*current_->file, current_->head,
                                                  current_->footer.get(), live_walk(offset_)));
  VARVE_TRY(read_frames(walk));
  // An active segment that another follows was left by a writer that died; nothing comes any more.
  return current_->trusted() || (!segments.empty() && segments.back().number > current_number_);
}

// Through the handle at hand, so that the frames are those of before, whatever a compaction has put
// in the file's place meanwhile.
Result<void> StreamTail::read_footer() {
  std::vector<Finding> findings;
  VARVE_ASSIGN(auto footer,
               jss::load_footer(*current_->file, current_->head, {.first_only = true}, findings));
  if (!footer->trusted) {
    return findings.empty() ? fail(ErrorCode::damaged, jss::k_invalid_footer,
                                   "the footer cannot be used", current_->file->name())
                            : std::unexpected(to_error(findings.front()));
  }
  current_->footer = std::move(footer);
  return {};
}

// An active segment that is another file now, or was cut below what was read (a restored copy), is
// read from its beginning; rows are told from new ones by their numbers.
Result<void> StreamTail::follow_replacement(const std::vector<StreamSegment>& segments) {
  const auto listed = std::ranges::find(segments, current_number_, &StreamSegment::number);
  if (listed != segments.end() && !listed->identity.same_object(current_->file->identity())) {
    return open_segment(*listed);
  }
  if (current_->file->size() < offset_) {
    offset_ = jss::k_first_frame_offset;
  }
  return {};
}

Result<void> StreamTail::read_frames(const jss::SegmentWalk& walk) {
  for (std::size_t at = 0; at < walk.frames.size(); ++at) {
    if (walk.frames[at].offset < offset_) {
      continue;  // a walk by the index gives all
    }
    auto block = std::make_shared<LiveBlock>();
    VARVE_ASSIGN(const auto fault, reader_.read(*current_, walk.frames[at], at, block->block));
    if (fault) {
      return std::unexpected(to_error(*fault));
    }
    offset_ = walk.frames[at].end();
    const jss::BlockColumns& columns = block->block.columns;
    for (std::uint32_t row = 0; row < columns.rows; ++row) {
      block->last_seq = std::max(block->last_seq, columns.seq[row]);
    }
    if (block->last_seq >= next_seq_) {
      publish(std::move(block));
    }
  }
  return {};
}

void StreamTail::publish(std::shared_ptr<LiveBlock> block) {
  {
    const std::lock_guard lock(mutex_);
    next_seq_ = block->last_seq + 1;
    kept_.push_back(std::move(block));
    std::uint64_t bytes = 0;
    for (const auto& kept : kept_) {
      bytes += kept->memory_bytes();
    }
    while (!kept_.empty() &&
           (bytes > options_.max_kept_bytes || kept_.size() > options_.max_kept_blocks)) {
      bytes -= std::min(bytes, kept_.front()->memory_bytes());
      kept_from_ = kept_.front()->last_seq + 1;
      kept_.pop_front();
    }
  }
  news_.notify_all();
}

}  // namespace varve::serve
