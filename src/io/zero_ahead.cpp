// SPDX-License-Identifier: MIT OR Apache-2.0
#include "io/zero_ahead.hpp"

#include <algorithm>
#include <array>

namespace varve::io {

namespace {

constexpr std::size_t k_zeros_bytes = std::size_t{64} << 10;
constexpr std::array<std::byte, k_zeros_bytes> k_zeros{};

}  // namespace

Result<void> write_zeros(File& file, std::uint64_t offset, std::uint64_t length) {
  while (length > 0) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(length, k_zeros_bytes));
    VARVE_TRY(file.write_at(std::span(k_zeros).first(count), offset));
    offset += count;
    length -= count;
  }
  return {};
}

Result<void> ZeroAhead::reserve(File& file, std::uint64_t end_bytes) {
  if (end_bytes <= filled_bytes_) {
    return {};
  }
  if (end_bytes > limit_bytes_) {
    return fail(ErrorCode::limit, "limit", "the log would grow beyond its file's limit",
                file.path());
  }
  const std::uint64_t ahead = std::min(limit_bytes_ - filled_bytes_, step_bytes_);
  const std::uint64_t target = std::max(end_bytes, filled_bytes_ + ahead);
  VARVE_TRY(write_zeros(file, filled_bytes_, target - filled_bytes_));
  VARVE_TRY(file.data_sync());
  filled_bytes_ = target;
  return {};
}

}  // namespace varve::io
