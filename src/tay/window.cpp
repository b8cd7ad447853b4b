// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/window.hpp"

#include <algorithm>
#include <cstring>

namespace varve::tay {

Result<void> read_exactly(const io::File& file, std::uint64_t offset, std::span<std::byte> out) {
  VARVE_ASSIGN(const std::size_t got, file.read_at(out, offset));
  if (got != out.size()) {
    return fail(ErrorCode::locked, "changed", "the file became shorter while it was read",
                file.path());
  }
  return {};
}

Result<void> check_same(const io::File& file, const io::FileIdentity& listed, bool may_grow) {
  VARVE_ASSIGN(const io::FileIdentity now, file.identity());
  const bool same_size =
      may_grow ? now.size_bytes >= listed.size_bytes : now.size_bytes == listed.size_bytes;
  if (!now.same_object(listed) || now.links != listed.links || !same_size) {
    return fail(ErrorCode::locked, "changed", "the file is not what was listed a moment ago",
                file.path());
  }
  return {};
}

// Keeps what the buffer already has from `offset` on, and reads on from there.
Result<void> Window::fill(std::uint64_t offset, std::size_t want) {
  std::size_t kept = 0;
  if (offset >= begin_ && offset < begin_ + length_) {
    kept = static_cast<std::size_t>(begin_ + length_ - offset);
    std::memmove(buffer_.data(), buffer_.data() + (length_ - kept), kept);
  }
  begin_ = offset;
  length_ = kept;
  // No more than there is: a small store is opened without a window of zeros.
  const auto needed = static_cast<std::size_t>(
      std::min<std::uint64_t>(std::max(want, k_read_bytes), end_ - offset));
  if (buffer_.size() < needed) {
    buffer_.resize(needed);
  }
  const auto count = static_cast<std::size_t>(
      std::min<std::uint64_t>(buffer_.size() - kept, end_ - offset - kept));
  VARVE_TRY(read_exactly(*file_, offset + kept, std::span(buffer_).subspan(kept, count)));
  length_ += count;
  return {};
}

}  // namespace varve::tay
