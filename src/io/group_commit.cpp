// SPDX-License-Identifier: MIT OR Apache-2.0
#include "io/group_commit.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

namespace varve::io {

namespace {

constexpr std::size_t k_read_piece_bytes = std::size_t{256} << 10;

Result<void> compare_with_file(const File& file, std::span<const std::byte> bytes,
                               std::uint64_t offset) {
  const std::size_t piece_bytes = std::min(bytes.size(), k_read_piece_bytes);
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(piece_bytes);
  for (std::size_t done = 0; done < bytes.size();) {
    const std::size_t count = std::min(piece_bytes, bytes.size() - done);
    VARVE_ASSIGN(const std::size_t got, file.read_at({buffer.get(), count}, offset + done));
    if (got != count || std::memcmp(buffer.get(), bytes.data() + done, count) != 0) {
      Error error;
      error.code = ErrorCode::io;
      error.path = file.path();
      error.offset = offset + done;
      error.length = count;
      error.reason = "read_back";
      error.message = "what was written reads back differently";
      return std::unexpected(std::move(error));
    }
    done += count;
  }
  return {};
}

}  // namespace

Result<void> commit_bytes(File& file, std::span<const std::byte> bytes, std::uint64_t offset,
                          CommitMode mode) {
  VARVE_TRY(file.write_at(bytes, offset));
  if (mode.read_back) {
    VARVE_TRY(compare_with_file(file, bytes, offset));
  }
  return mode.sync ? file.data_sync() : Result<void>();
}

}  // namespace varve::io
