// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/segment_file.hpp"

#include <algorithm>
#include <utility>

namespace varve::jss {

SegmentFile::SegmentFile(std::unique_ptr<io::File> file, std::string name,
                         io::FileIdentity identity, std::uint64_t horizon)
    : file_(std::move(file)), name_(std::move(name)), identity_(identity), horizon_(horizon) {}

Result<std::unique_ptr<SegmentFile>> SegmentFile::adopt(
    std::unique_ptr<io::File> file, std::string name, std::optional<std::uint64_t> horizon_bytes) {
  VARVE_ASSIGN(const io::FileIdentity identity, file->identity());
  const std::uint64_t horizon =
      std::min(identity.size_bytes, horizon_bytes.value_or(identity.size_bytes));
  return std::unique_ptr<SegmentFile>(
      new SegmentFile(std::move(file), std::move(name), identity, horizon));
}

std::unexpected<Error> SegmentFile::changed(std::uint64_t offset) const {
  Error error;
  error.code = ErrorCode::locked;
  error.path = file_->path();
  error.offset = offset;
  error.reason = "changed-while-reading";
  error.message = "the file became shorter while it was read; try again";
  return std::unexpected(std::move(error));
}

Result<void> SegmentFile::read(std::span<std::byte> buffer, std::uint64_t offset) const {
  VARVE_ASSIGN(const std::size_t n, file_->read_at(buffer, offset));
  if (n != buffer.size()) {
    return changed(offset + n);
  }
  return {};
}

Result<void> SegmentFile::still_whole() const {
  VARVE_ASSIGN(const io::FileIdentity now, file_->identity());
  if (now.size_bytes < horizon_) {
    return changed(now.size_bytes);
  }
  return {};
}

Result<bool> SegmentFile::touched() const {
  VARVE_ASSIGN(const io::FileIdentity now, file_->identity());
  return now.modified_ns != identity_.modified_ns || now.size_bytes != identity_.size_bytes;
}

Result<void> SegmentFile::observe_end() {
  VARVE_ASSIGN(identity_, file_->identity());
  horizon_ = identity_.size_bytes;
  return {};
}

std::string_view to_text(SegmentState state) {
  switch (state) {
    case SegmentState::active:
      return "active";
    case SegmentState::sealed:
      return "sealed";
    case SegmentState::refused:
      return "refused";
  }
  return "refused";
}

Finding make_finding(const char* code, const char* stage, const std::string& file,
                     std::uint64_t offset, std::uint64_t length, const char* unit,
                     std::string message) {
  Finding finding;
  finding.code = code;
  finding.stage = stage;
  finding.file = file;
  finding.offset = offset;
  finding.length = length;
  finding.unit = unit;
  finding.message = std::move(message);
  return finding;
}

}  // namespace varve::jss
