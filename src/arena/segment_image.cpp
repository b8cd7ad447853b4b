// SPDX-License-Identifier: MIT OR Apache-2.0
#include "arena/segment_image.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/endian.hpp"

namespace varve::arena {

namespace {

constexpr std::uint64_t k_piece_bytes = std::uint64_t{256} << 10;

struct Extent {
  std::uint64_t begin;
  std::uint64_t end;
};

// Calls visit(Extent) for each run of data in [from, end), in order, until it returns false.
template <class Visit>
Result<void> each_extent(const io::File& file, std::uint64_t from, std::uint64_t end, Visit visit) {
  while (from < end) {
    VARVE_ASSIGN(const std::optional<std::uint64_t> data, file.next_data(from));
    if (!data || *data >= end) {
      break;
    }
    VARVE_ASSIGN(std::uint64_t hole, file.next_hole(*data));
    hole = std::clamp(hole, *data + 1, end);
    VARVE_ASSIGN(const bool go_on, visit(Extent{*data, hole}));
    if (!go_on) {
      break;
    }
    from = hole;
  }
  return {};
}

}  // namespace

SegmentImage::SegmentImage(std::unique_ptr<io::File> file, std::uint32_t index,
                           std::uint64_t file_bytes, std::uint64_t logical_bytes)
    : file_(std::move(file)),
      index_(index),
      stored_bytes_(std::min(file_bytes, logical_bytes)),
      logical_bytes_(logical_bytes) {}

Result<void> SegmentImage::read(std::span<std::byte> out, std::uint64_t offset) const {
  const std::uint64_t stored =
      offset < stored_bytes_ ? std::min<std::uint64_t>(out.size(), stored_bytes_ - offset) : 0;
  std::uint64_t done = 0;
  while (done < stored) {
    const auto piece = static_cast<std::size_t>(std::min(k_piece_bytes, stored - done));
    VARVE_ASSIGN(const std::size_t n, file_->read_at(out.subspan(done, piece), offset + done));
    done += n;
    if (n < piece) {
      Error error;
      error.path = file_->path();
      error.offset = offset + done;
      error.reason = "file_shrank";
      error.message = "the file became shorter while it was read";
      return std::unexpected(std::move(error));
    }
  }
  std::memset(out.data() + stored, 0, out.size() - stored);
  return {};
}

Result<std::optional<std::uint64_t>> SegmentImage::first_nonzero(std::uint64_t from) const {
  std::optional<std::uint64_t> found;
  base::Bytes buffer;
  const auto walked = each_extent(*file_, from, stored_bytes_, [&](Extent extent) -> Result<bool> {
    for (std::uint64_t at = extent.begin; at < extent.end; at += buffer.size()) {
      buffer.resize(static_cast<std::size_t>(std::min(k_piece_bytes, extent.end - at)));
      VARVE_TRY(read(buffer, at));
      const std::size_t position = find_nonzero(buffer);
      if (position < buffer.size()) {
        found = at + position;
        return false;
      }
    }
    return true;
  });
  VARVE_TRY(walked);
  return found;
}

Result<std::optional<std::uint64_t>> SegmentImage::last_nonzero(std::uint64_t from) const {
  std::vector<Extent> extents;
  VARVE_TRY(each_extent(*file_, from, stored_bytes_, [&](Extent extent) -> Result<bool> {
    extents.push_back(extent);
    return true;
  }));
  base::Bytes buffer;
  for (auto extent = extents.rbegin(); extent != extents.rend(); ++extent) {
    for (std::uint64_t end = extent->end; end > extent->begin;) {
      const std::uint64_t begin = end - std::min(k_piece_bytes, end - extent->begin);
      buffer.resize(static_cast<std::size_t>(end - begin));
      VARVE_TRY(read(buffer, begin));
      const std::size_t position = find_last_nonzero(buffer);
      if (position < buffer.size()) {
        return begin + position;
      }
      end = begin;
    }
  }
  return std::optional<std::uint64_t>();
}

std::size_t find_nonzero(base::ByteSpan bytes) {
  std::size_t at = 0;
  for (; at + 32 <= bytes.size(); at += 32) {
    const std::byte* p = bytes.data() + at;
    if ((base::u64le(p) | base::u64le(p + 8) | base::u64le(p + 16) | base::u64le(p + 24)) != 0) {
      break;
    }
  }
  while (at < bytes.size() && bytes[at] == std::byte{0}) {
    ++at;
  }
  return at;
}

std::size_t find_last_nonzero(base::ByteSpan bytes) {
  std::size_t end = bytes.size();
  for (; end >= 32; end -= 32) {
    const std::byte* p = bytes.data() + end - 32;
    if ((base::u64le(p) | base::u64le(p + 8) | base::u64le(p + 16) | base::u64le(p + 24)) != 0) {
      break;
    }
  }
  while (end > 0 && bytes[end - 1] == std::byte{0}) {
    --end;
  }
  return end == 0 ? bytes.size() : end - 1;
}

}  // namespace varve::arena
