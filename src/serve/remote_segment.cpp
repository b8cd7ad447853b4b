// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/remote_segment.hpp"

#include <utility>

#include "jss/scan_plan.hpp"

namespace varve::serve {

namespace {

constexpr unsigned k_most_renewals = 2;  // section 17.5

// What a compaction leaves as it was (section 14.3).
bool same_blocks(const OpenGeneration& a, const OpenGeneration& b) {
  const jss::Header& x = a.segment->head.header;
  const jss::Header& y = b.segment->head.header;
  return a.walk.frames.size() == b.walk.frames.size() && x.block_count == y.block_count &&
         x.min_seq == y.min_seq && x.max_seq == y.max_seq;
}

}  // namespace

Result<std::shared_ptr<RemoteSegmentReader>> RemoteSegmentReader::open(
    RemoteFileSystem& files, std::string name, std::string file_name,
    const jss::WalkOptions& options) {
  std::shared_ptr<RemoteSegmentReader> reader(
      new RemoteSegmentReader(files, std::move(name), std::move(file_name), options));
  for (unsigned attempt = 0;; ++attempt) {
    auto generation = reader->open_generation();
    if (generation) {
      reader->first_ = *generation;
      reader->newest_ = *std::move(generation);
      return reader;
    }
    if (!is_changed_generation(generation.error()) || attempt == k_most_renewals) {
      return std::unexpected(std::move(generation).error());
    }
  }
}

Result<std::shared_ptr<const OpenGeneration>> RemoteSegmentReader::open_generation() {
  VARVE_ASSIGN(auto file, files_.open_segment(name_, io::OpenMode::read));
  auto segment = std::make_shared<jss::OpenSegment>();
  VARVE_ASSIGN(segment->file, jss::SegmentFile::adopt(std::move(file), file_name_));
  VARVE_ASSIGN(segment->head, jss::read_head(*segment->file));
  if (segment->head.fault) {
    segment->findings.push_back(*segment->head.fault);
  }
  segment->findings.insert(segment->findings.end(), segment->head.oddities.begin(),
                           segment->head.oddities.end());
  if (segment->head.state == jss::SegmentState::sealed) {
    jss::FooterOptions options;
    options.first_only = options_.policy == jss::WalkPolicy::strict;
    options.max_memory_bytes = options_.max_memory_bytes;
    VARVE_ASSIGN(segment->footer,
                 jss::load_footer(*segment->file, segment->head, options, segment->findings));
  }
  auto out = std::make_shared<OpenGeneration>();
  if (!jss::unreadable(segment->head)) {
    VARVE_ASSIGN(out->walk,
                 jss::walk_segment(*segment->file, segment->head, segment->footer.get(), options_));
  }
  out->segment = std::move(segment);
  return out;
}

Result<std::shared_ptr<const OpenGeneration>> RemoteSegmentReader::renew(
    const OpenGeneration* seen) {
  const std::lock_guard lock(mutex_);
  if (newest_.get() != seen) {
    return newest_;  // another thread was first
  }
  const auto give_up = [&](const char* why) {
    return std::unexpected(files_.archive().at(
        fail(ErrorCode::locked, "changed-while-reading", why).error(), name_, 0));
  };
  while (renewals_++ < k_most_renewals) {
    auto next = open_generation();
    if (!next && !is_changed_generation(next.error())) {
      return next;
    }
    if (next && !same_blocks(*first_, **next)) {
      return give_up("the segment on the server is another one than the one that was begun");
    }
    if (next) {
      newest_ = *std::move(next);
      return newest_;
    }
  }
  return give_up("the segment is replaced on the server again and again");
}

Result<std::optional<Finding>> RemoteSegmentReader::read(jss::BlockReader& reader,
                                                         std::uint32_t ordinal, jss::Block& block) {
  std::shared_ptr<const OpenGeneration> generation;
  {
    const std::lock_guard lock(mutex_);
    generation = newest_;
  }
  for (;;) {
    auto fault =
        reader.read(*generation->segment, generation->walk.frames[ordinal], ordinal, block);
    if (fault || !is_changed_generation(fault.error())) {
      return fault;
    }
    VARVE_ASSIGN(generation, renew(generation.get()));
  }
}

}  // namespace varve::serve
