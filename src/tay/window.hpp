// SPDX-License-Identifier: MIT OR Apache-2.0
// A sliding view of a file: reads of 256 KiB into one reused buffer.
#pragma once

#include <cstdint>

#include "base/bytes.hpp"
#include "varve/file_system.hpp"

namespace varve::tay {

inline constexpr std::size_t k_read_bytes = std::size_t{256} << 10;

class Window {
 public:
  // Looks at [0, end) of `file`, which must outlive the use. The buffer is kept from file to file.
  void open(const io::File& file, std::uint64_t end) {
    file_ = &file;
    end_ = end;
    begin_ = 0;
    length_ = 0;
  }
  std::uint64_t end() const { return end_; }

  // The bytes from `offset` on that the buffer holds: at least min(want, end - offset). Valid until
  // the next call. ErrorCode::locked, reason "changed", if the file ends before its end.
  Result<base::ByteSpan> view(std::uint64_t offset, std::size_t want) {
    const std::uint64_t left = offset < end_ ? end_ - offset : 0;
    want = static_cast<std::size_t>(want < left ? want : left);
    if (offset < begin_ || offset + want > begin_ + length_) {
      VARVE_TRY(fill(offset, want));
    }
    const auto from = static_cast<std::size_t>(offset - begin_);
    return base::ByteSpan(buffer_).subspan(from, length_ - from);
  }

 private:
  Result<void> fill(std::uint64_t offset, std::size_t want);

  const io::File* file_ = nullptr;
  std::uint64_t end_ = 0;
  std::uint64_t begin_ = 0;  // file offset of buffer_[0]
  std::size_t length_ = 0;   // bytes that are good
  base::Bytes buffer_;
};

// Fills `out` from `offset` on; an error as for Window::view if the file is too short.
Result<void> read_exactly(const io::File& file, std::uint64_t offset, std::span<std::byte> out);

// ErrorCode::locked, reason "changed", unless `file` is the object that was listed, with as many
// names and the same size (or more, if it `may_grow`).
Result<void> check_same(const io::File& file, const io::FileIdentity& listed,
                        bool may_grow = false);

}  // namespace varve::tay
