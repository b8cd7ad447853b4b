// SPDX-License-Identifier: MIT OR Apache-2.0
#include "arena/tail_scan.hpp"

#include <algorithm>
#include <cstring>

#include "base/endian.hpp"
#include "base/mutant.hpp"

namespace varve::arena {

namespace {

constexpr std::uint64_t k_stride_bytes = 16;
constexpr std::uint64_t k_piece_bytes = std::uint64_t{1} << 20;
// Room for the largest frame ahead of the offset looked at, and for steps between two moves.
constexpr std::uint64_t k_window_bytes = std::uint64_t{64} << 20;
static_assert(k_window_bytes > k_max_frame_bytes + 2 * k_piece_bytes);
// Header bytes may reach behind the data; they read as zeros.
constexpr std::uint64_t k_padding_bytes = 64;

// Bytes of LZ4 work allowed for a tail of n bytes. Honest tails use a small part of it.
constexpr std::uint64_t budget_for(std::uint64_t tail_bytes) {
  return 64 * tail_bytes + (std::uint64_t{1} << 30);
}

}  // namespace

Result<void> TailScanner::start(std::uint64_t from) {
  started_ = true;
  VARVE_ASSIGN(last_nonzero_, image_.last_nonzero(from));
  data_end_ = last_nonzero_ ? *last_nonzero_ + 1 : from;
  budget_ = budget_for(data_end_ - from);
  origin_ = loaded_ = from;
  checkpoints_.assign(1, 0);
  return {};
}

// Makes the bytes up to `end` (or to the end of the data) present; those before `keep_from` may go.
Result<void> TailScanner::load_to(std::uint64_t end, std::uint64_t keep_from) {
  end = std::min(end, data_end_);
  if (keep_from > loaded_) {  // skipped ahead: CRCs may start anew, only differences count
    origin_ = loaded_ = keep_from;
    checkpoints_.assign(1, 0);
  }
  while (loaded_ < end) {
    if (loaded_ + k_piece_bytes - origin_ > k_window_bytes) {
      const std::uint64_t drop = (keep_from - origin_) / k_stride_bytes * k_stride_bytes;
      std::memmove(window_.data(), window_.data() + drop, loaded_ - origin_ - drop);
      const std::size_t strides = drop / k_stride_bytes;
      if (strides < checkpoints_.size()) {
        checkpoints_.erase(checkpoints_.begin(),
                           checkpoints_.begin() + static_cast<std::ptrdiff_t>(strides));
      } else {
        checkpoints_.assign(1, 0);
      }
      origin_ += drop;
    }
    const std::uint64_t have = loaded_ - origin_;
    const std::uint64_t piece = std::min(k_piece_bytes, data_end_ - loaded_);
    if (have + piece + k_padding_bytes > window_.capacity()) {
      const std::uint64_t doubled = std::max(2 * have, 2 * k_piece_bytes);
      window_.set_size(have);
      window_.reserve(std::min(doubled, k_window_bytes) + k_padding_bytes);
    }
    std::byte* to = window_.data() + have;
    VARVE_TRY(image_.read({to, piece}, loaded_));
    std::memset(to + piece, 0, k_padding_bytes);
    loaded_ += piece;
  }
  return {};
}

// C(offset), for an offset inside the window or, over zeros, behind the data.
std::uint32_t TailScanner::prefix_crc(std::uint64_t offset) {
  const std::uint64_t inside = std::min(offset, loaded_);
  const std::uint64_t stride = (inside - origin_) / k_stride_bytes;
  while (checkpoints_.size() <= stride) {
    const std::byte* bytes = window_.data() + (checkpoints_.size() - 1) * k_stride_bytes;
    checkpoints_.push_back(base::crc32_short({bytes, k_stride_bytes}, checkpoints_.back()));
  }
  const std::uint64_t begin = origin_ + stride * k_stride_bytes;
  const std::uint32_t crc = base::crc32_short({at(begin), inside - begin}, checkpoints_[stride]);
  return offset == inside ? crc : shift_.append_zeros(crc, offset - inside);
}

Result<void> TailScanner::spend(std::uint64_t work_bytes) {
  if (work_bytes > budget_) {
    Error error;
    error.code = ErrorCode::limit;
    error.path = image_.file().path();
    error.reason = "scan-limit";
    error.message = "the bytes behind the bad frame are made to be expensive; given up";
    return std::unexpected(std::move(error));
  }
  budget_ -= work_bytes;
  return {};
}

Result<bool> TailScanner::raw_frame_at(std::uint64_t offset, const FrameHeader& header) {
  const std::uint64_t begin = offset + k_header_bytes;
  const std::uint64_t end = begin + header.comp_len;
  VARVE_TRY(load_to(end, offset));
  if (begin > loaded_) {  // the data are zeros behind the end
    return ~shift_.shift(~0U, header.comp_len) == header.crc32;
  }
  return shift_.between(prefix_crc(begin), prefix_crc(end), header.comp_len) == header.crc32 ||
         base::mutant("arena-scan-raw-crc");
}

Result<bool> TailScanner::compressed_frame_at(std::uint64_t offset, const FrameHeader& header) {
  const std::uint64_t begin = offset + k_header_bytes;
  const std::uint64_t end = begin + header.comp_len;
  VARVE_TRY(load_to(end, offset));
  base::ByteSpan block;
  if (end <= loaded_) {
    block = {at(begin), header.comp_len};
  } else {
    const std::uint64_t present = begin < loaded_ ? loaded_ - begin : 0;
    VARVE_TRY(spend(header.comp_len));
    std::byte* copy = block_.reserve(header.comp_len);
    if (present > 0) {
      std::memcpy(copy, at(begin), present);
    }
    std::memset(copy + present, 0, header.comp_len - present);
    block = {copy, header.comp_len};
  }
  std::uint64_t steps = 0;
  const bool plausible = lz4_block_plausible(block, header.raw_len, steps);
  VARVE_TRY(spend(8 * steps));
  if (!plausible) {
    return false;
  }
  VARVE_TRY(spend(std::uint64_t{header.raw_len} + header.comp_len));
  base::ByteSpan payload;
  return !check_data(header, block, payload_.reserve(header.raw_len), payload);
}

Result<bool> TailScanner::frame_at(std::uint64_t offset, const FrameHeader& header) {
  if (image_.logical_bytes() - offset < k_header_bytes ||
      check_header(header, image_.logical_bytes() - offset).kind != UnitKind::frame) {
    return false;
  }
  return header.compressed() ? compressed_frame_at(offset, header) : raw_frame_at(offset, header);
}

Result<std::optional<Proof>> TailScanner::next(std::uint64_t from, bool markers) {
  if (!started_) {
    VARVE_TRY(start(from));
  }
  for (std::uint64_t p = from; p < data_end_;) {
    VARVE_TRY(load_to(p + k_piece_bytes, p));
    // Offsets whose header lies in the window, or behind which there is only padding.
    const std::uint64_t stop = loaded_ == data_end_ ? data_end_ : loaded_ - k_header_bytes;
    while (p < stop) {
      const std::byte* bytes = at(p);
      const std::uint32_t raw_len = base::u32le(bytes + k_raw_len_offset);
      const std::uint32_t comp_len = base::u32le(bytes + k_comp_len_offset);
      if ((raw_len | comp_len) == 0) {
        const std::uint64_t left = loaded_ - p;
        const std::uint64_t nonzero =
            find_nonzero({bytes + k_raw_len_offset, std::max<std::uint64_t>(left, 8) - 4});
        if (markers && !base::mutant("arena-scan-marker") && base::u32le(bytes) == 0 &&
            nonzero == 8 && base::u32le(bytes + k_seq_offset) == k_marker_seq &&
            image_.logical_bytes() - p >= k_header_bytes) {
          return Proof{UnitKind::marker, p, decode_header(bytes)};
        }
        // Only a marker can begin within a run of zeros, and only twelve bytes before its end.
        p += nonzero > 8 ? nonzero - (base::mutant("arena-scan-zeros") ? 7 : 8) : 1;
        continue;
      }
      if (raw_len <= k_max_payload_bytes && comp_len <= raw_len && comp_len != 0) {
        const FrameHeader header = decode_header(bytes);
        VARVE_ASSIGN(const bool valid, frame_at(p, header));
        if (valid) {
          return Proof{UnitKind::frame, p, header};
        }
      }
      p += base::mutant("arena-scan-step") ? 4 : 1;
    }
  }
  return std::optional<Proof>();
}

}  // namespace varve::arena
