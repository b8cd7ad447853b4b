// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/block.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

#include "base/mutant.hpp"

namespace varve::jss {

namespace {

Fault fault(const char* word, std::uint64_t offset, std::uint64_t expected, std::uint64_t actual) {
  return Fault{word, offset, Number::decimal(expected), Number::decimal(actual)};
}

// Writes the start of each value and the end of the last one; gives the sum of all lengths, which
// is exact even where the 32-bit positions have wrapped (the caller refuses such a sum).
template <class T>
std::uint64_t sum_lengths(const std::byte* lengths, std::uint32_t rows, std::uint32_t* offsets) {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < rows; ++i) {
    offsets[i] = static_cast<std::uint32_t>(sum);
    sum += base::load_le<T>(lengths + std::size_t{i} * sizeof(T));
  }
  offsets[rows] = static_cast<std::uint32_t>(sum);
  return sum;
}

// Index of the first value that is no kind, or `rows`.
std::uint32_t first_bad_kind(const std::uint8_t* kinds, std::uint32_t rows) {
  std::uint8_t bad = 0;
  for (std::uint32_t i = 0; i < rows; ++i) {
    bad |= static_cast<std::uint8_t>(kinds[i] - k_min_kind) > k_max_kind - k_min_kind ? 1 : 0;
  }
  if (bad == 0) {
    return rows;
  }
  return static_cast<std::uint32_t>(
      std::find_if_not(kinds, kinds + rows, [](std::uint8_t k) { return is_kind(k); }) - kinds);
}

// The columns of 64-bit values in the machine's own byte order.
template <class T>
const T* wide_column(std::byte* at, std::uint32_t rows) {
  assert(reinterpret_cast<std::uintptr_t>(at) % alignof(T) == 0);
  if constexpr (std::endian::native == std::endian::big) {
    for (std::uint32_t i = 0; i < rows; ++i) {
      const std::uint64_t value = base::u64le(at + std::size_t{i} * 8);
      std::memcpy(at + std::size_t{i} * 8, &value, 8);
    }
  }
  return reinterpret_cast<const T*>(at);
}

}  // namespace

std::optional<Fault> Block::decode() {
  columns = BlockColumns{};
  const std::uint64_t size = body.size();
  if (size < k_body_count_bytes) {
    return fault(k_body_too_short, 0, k_body_count_bytes, size);
  }
  const std::uint32_t n = base::u32le(body.data());
  if (n > k_max_block_rows && !base::mutant("jss-row-cap")) {
    return fault(k_body_row_count, 0, k_max_block_rows, n);
  }
  const std::uint64_t fixed_bytes = std::uint64_t{n} * k_row_fixed_bytes;
  if (size - k_body_count_bytes < fixed_bytes) {
    return fault(k_body_columns, k_body_count_bytes, fixed_bytes, size - k_body_count_bytes);
  }
  if (n == 0) {
    if (size != k_body_count_bytes && !base::mutant("jss-not-empty")) {
      return fault(k_body_not_empty, k_body_count_bytes, k_body_count_bytes, size);
    }
    return std::nullopt;
  }
  std::byte* const fixed = body.data() + k_body_count_bytes;
  const auto* kinds = reinterpret_cast<const std::uint8_t*>(fixed + n * k_kind_column);
  if (const std::uint32_t bad = first_bad_kind(kinds, n); bad != n && !base::mutant("jss-kind")) {
    return Fault{
        k_body_kind, k_body_count_bytes + n * k_kind_column + bad, {}, Number::decimal(kinds[bad])};
  }

  offsets_.resize(std::max<std::size_t>(offsets_.size(), 5 * (std::size_t{n} + 1)));
  const char* const strings = reinterpret_cast<const char*>(fixed) + fixed_bytes;
  std::uint64_t left = size - k_body_count_bytes - fixed_bytes;
  std::uint64_t position = 0;
  std::uint32_t* offsets = offsets_.data();
  BlockColumns view;
  const auto take = [&]<class T>(T, std::uint64_t column, StringColumn& out) {
    const std::uint64_t sum = sum_lengths<T>(fixed + n * column, n, offsets);
    if (sum > left) {
      return std::optional(fault(k_body_strings, k_body_count_bytes + n * column, left, sum));
    }
    out = {offsets, strings + position};
    offsets += n + 1;
    position += sum;
    left -= sum;
    return std::optional<Fault>();
  };
  if (auto f = take(std::uint8_t{}, k_collection_len_column, view.collection)) return f;
  if (auto f = take(std::uint16_t{}, k_did_len_column, view.did)) return f;
  if (auto f = take(std::uint8_t{}, k_rkey_len_column, view.rkey)) return f;
  if (auto f = take(std::uint8_t{}, k_rev_len_column, view.rev)) return f;
  if (auto f = take(std::uint32_t{}, k_payload_len_column, view.payload)) return f;
  if (left != 0 && !base::mutant("jss-trailing")) {
    return fault(k_body_trailing, size - left, size - left, size);
  }
  view.rows = n;
  view.seq = wide_column<std::uint64_t>(fixed + n * k_seq_column, n);
  view.witnessed_at = wide_column<std::int64_t>(fixed + n * k_witnessed_at_column, n);
  view.indexed_at = wide_column<std::int64_t>(fixed + n * k_indexed_at_column, n);
  view.kind = kinds;
  columns = view;
  return std::nullopt;
}

std::optional<Fault> FrameDecoder::decompress(base::ByteSpan frame, std::uint64_t cap_bytes,
                                              base::Buffer& out) {
  switch (zstd_.decode(
      frame,
      base::mutant("jss-cap") ? ~std::uint64_t{0} >> 1 : std::min(cap_bytes, k_max_body_bytes),
      out)) {
    case base::CodecStatus::ok:
      return std::nullopt;
    case base::CodecStatus::trailing_bytes:
      return Fault{k_frame_trailing, 0, {}, {}};
    case base::CodecStatus::over_cap:
      return Fault{k_frame_over_cap, 0, Number::decimal(std::min(cap_bytes, k_max_body_bytes)), {}};
    case base::CodecStatus::corrupt:
      break;
  }
  return Fault{k_frame_corrupt, 0, {}, {}};
}

std::optional<Fault> FrameDecoder::decode(base::ByteSpan frame, std::uint64_t cap_bytes,
                                          Block& block) {
  if (auto fault = decompress(frame, cap_bytes, block.body)) {
    block.columns = BlockColumns{};
    return fault;
  }
  return block.decode();
}

}  // namespace varve::jss
