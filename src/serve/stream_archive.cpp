// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/stream_archive.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "jss/footer.hpp"

namespace varve::serve {

namespace {

bool unchanged(const io::FileIdentity& a, const io::FileIdentity& b) {
  return a.same_object(b) && a.size_bytes == b.size_bytes && a.modified_ns == b.modified_ns;
}

bool has_blocks(const StreamSegment& segment) {
  return segment.state == jss::SegmentState::sealed && segment.header.block_count != 0;
}

}  // namespace

Result<StreamArchive> StreamArchive::open(io::FileSystem& files, const std::string& path) {
  VARVE_ASSIGN(jss::StorePlace place, jss::open_place(files, path));
  return StreamArchive(std::move(place));
}

Result<std::vector<jss::NumberedSegment>> StreamArchive::list() const {
  if (place_.is_archive()) {
    return jss::list_segments(*place_.directory);
  }
  VARVE_ASSIGN(const io::FileIdentity identity, place_.directory->identity_of(*place_.single_file));
  return std::vector<jss::NumberedSegment>{{0, *place_.single_file, identity}};
}

Result<std::int64_t> StreamArchive::changed_ns() const {
  VARVE_ASSIGN(const io::FileIdentity identity, place_.directory->identity());
  return identity.modified_ns;
}

Result<std::unique_ptr<jss::SegmentFile>> StreamArchive::open_file(const std::string& name) const {
  VARVE_ASSIGN(auto file, place_.directory->open_file(name, io::OpenMode::read));
  return jss::SegmentFile::adopt(std::move(file), name);
}

Result<StreamSegment> StreamArchive::read(const jss::NumberedSegment& found) const {
  VARVE_ASSIGN(const auto file, open_file(found.name));
  VARVE_ASSIGN(const jss::SegmentHead head, jss::read_head(*file));
  StreamSegment out;
  out.number = found.number;
  out.name = found.name;
  out.identity = file->identity();
  out.state = head.state;
  if (head.state == jss::SegmentState::sealed) {
    out.header = head.header;
    VARVE_ASSIGN(const std::uint64_t checksum, jss::metadata_checksum(*file, head));
    out.believed = checksum == head.header.checksum;
  }
  return out;
}

Result<StreamSegments> StreamArchive::look(const StreamSegments& before) const {
  VARVE_ASSIGN(const auto found, list());
  auto out = std::make_shared<std::vector<StreamSegment>>();
  out->reserve(found.size());
  for (const jss::NumberedSegment& one : found) {
    if (before != nullptr) {
      const auto known = std::ranges::lower_bound(*before, one.number, {}, &StreamSegment::number);
      if (known != before->end() && known->number == one.number && known->believed &&
          unchanged(known->identity, one.identity)) {
        out->push_back(*known);
        continue;
      }
    }
    auto segment = read(one);
    if (!segment) {
      if (segment.error().system_errno == ENOENT) {
        continue;  // removed since the listing
      }
      return std::unexpected(std::move(segment).error());
    }
    if (segment->state != jss::SegmentState::refused || one.number != found.back().number) {
      out->push_back(*std::move(segment));
    }
  }
  return out;
}

Result<std::shared_ptr<jss::OpenSegment>> StreamArchive::open(const StreamSegment& segment) const {
  auto out = std::make_shared<jss::OpenSegment>();
  VARVE_ASSIGN(out->file, open_file(segment.name));
  VARVE_ASSIGN(out->head, jss::read_head(*out->file));
  if (out->head.fault) {
    return std::unexpected(to_error(*out->head.fault));
  }
  if (out->head.state != jss::SegmentState::sealed) {
    return out;
  }
  jss::FooterOptions options;
  options.check_hash = !(segment.believed && unchanged(segment.identity, out->file->identity()));
  options.first_only = true;
  VARVE_ASSIGN(out->footer, jss::load_footer(*out->file, out->head, options, out->findings));
  if (!out->footer->trusted) {
    VARVE_TRY(out->file->still_whole());
    return out->findings.empty() ? fail(ErrorCode::damaged, jss::k_invalid_footer,
                                        "the footer cannot be used", segment.name)
                                 : std::unexpected(to_error(out->findings.front()));
  }
  return out;
}

std::uint64_t last_sealed_seq(const std::vector<StreamSegment>& segments) {
  std::uint64_t last = 0;
  for (const StreamSegment& segment : segments) {
    if (has_blocks(segment)) {
      last = std::max(last, segment.header.max_seq);
    }
  }
  return last;
}

std::optional<StreamFloor> floor_of(const std::vector<StreamSegment>& segments,
                                    std::int64_t oldest_us) {
  const StreamSegment* at = nullptr;
  for (const StreamSegment& segment : segments) {
    if (!has_blocks(segment)) {
      continue;
    }
    at = &segment;
    if (segment.header.max_witnessed_at >= oldest_us) {
      break;
    }
  }
  return at == nullptr
             ? std::nullopt
             : std::optional(StreamFloor{at->header.min_seq, at->header.min_witnessed_at});
}

}  // namespace varve::serve
