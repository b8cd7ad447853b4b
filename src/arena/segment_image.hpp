// SPDX-License-Identifier: MIT OR Apache-2.0
// One segment file seen as its zero-extended image (section 2): bytes behind the end of the file,
// and holes in it, read as zeros. Never writes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/bytes.hpp"
#include "varve/file_system.hpp"

namespace varve::arena {

class SegmentImage {
 public:
  // `file_bytes` is the length that the caller saw: what is appended later is not looked at.
  // `logical_bytes` is L of section 3.2; of a longer file only the first L bytes count.
  SegmentImage(std::unique_ptr<io::File> file, std::uint32_t index, std::uint64_t file_bytes,
               std::uint64_t logical_bytes);

  std::uint32_t index() const { return index_; }
  std::uint64_t logical_bytes() const { return logical_bytes_; }
  // The bytes that are in the file; those from here to logical_bytes() are zero.
  std::uint64_t stored_bytes() const { return stored_bytes_; }
  const io::File& file() const { return *file_; }
  // If set, readers take the log to end here: where it ended when the reading began.
  std::optional<std::uint64_t> horizon() const { return horizon_; }
  void set_horizon(std::uint64_t offset) { horizon_ = offset; }

  // Fills `out` with the bytes from `offset`. Thread-safe. A file that became shorter than it was
  // when it was opened is an error (reason "file_shrank"), not damage.
  Result<void> read(std::span<std::byte> out, std::uint64_t offset) const;

  // The first non-zero byte at or behind `from`; nullopt if all are zero. Skips holes.
  Result<std::optional<std::uint64_t>> first_nonzero(std::uint64_t from) const;
  // The last non-zero byte at or behind `from`.
  Result<std::optional<std::uint64_t>> last_nonzero(std::uint64_t from) const;

 private:
  std::unique_ptr<io::File> file_;
  std::uint32_t index_;
  std::uint64_t stored_bytes_;
  std::uint64_t logical_bytes_;
  std::optional<std::uint64_t> horizon_;
};

// The position of the first / last non-zero byte, or bytes.size() if there is none.
std::size_t find_nonzero(base::ByteSpan bytes);
std::size_t find_last_nonzero(base::ByteSpan bytes);

}  // namespace varve::arena
