// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/seq_resumption.hpp"

#include "jss/footer.hpp"
#include "jss/recovery.hpp"
#include "jss/segment_file.hpp"

namespace varve::jss {

namespace {

Result<std::unique_ptr<SegmentFile>> open_segment(const io::Directory& directory,
                                                  const NumberedSegment& segment) {
  VARVE_ASSIGN(auto file, directory.open_file(segment.name, io::OpenMode::read));
  return SegmentFile::adopt(std::move(file), segment.name);
}

// The header of a sealed segment whose checksum holds; none for an active one.
Result<std::optional<Header>> sealed_header(const SegmentFile& file) {
  VARVE_ASSIGN(const bool unborn, is_unborn(file));
  if (unborn) {
    return std::optional<Header>();
  }
  VARVE_ASSIGN(const SegmentHead head, read_head(file));
  if (head.state == SegmentState::active) {
    return std::optional<Header>();
  }
  Error error;
  if (head.state == SegmentState::refused) {
    error = to_error(*head.fault);
  } else {
    VARVE_ASSIGN(const std::uint64_t checksum, metadata_checksum(file, head));
    if (checksum == head.header.checksum) {
      return std::optional(head.header);
    }
    error.code = ErrorCode::damaged;
    error.reason = k_checksum_mismatch;
    error.expected = Number::hex64(head.header.checksum);
    error.actual = Number::hex64(checksum);
    error.message = "the checksum of the segment's header and footer does not hold";
  }
  error.path = file.path();
  return std::unexpected(std::move(error));
}

}  // namespace

Result<bool> last_is_active(const io::Directory& directory,
                            const std::vector<NumberedSegment>& segments) {
  if (segments.empty()) {
    return false;
  }
  VARVE_ASSIGN(const auto file, open_segment(directory, segments.back()));
  VARVE_ASSIGN(const auto header, sealed_header(*file));
  return !header.has_value();
}

Result<std::uint64_t> last_sealed_seq(const io::Directory& directory,
                                      const std::vector<NumberedSegment>& segments) {
  for (auto segment = segments.rbegin(); segment != segments.rend(); ++segment) {
    VARVE_ASSIGN(const auto file, open_segment(directory, *segment));
    VARVE_ASSIGN(const auto header, sealed_header(*file));
    if (header && header->block_count != 0) {
      return header->max_seq;
    }
  }
  return 0;
}

}  // namespace varve::jss
