// SPDX-License-Identifier: MIT OR Apache-2.0
// A block being filled row by row (section 4), already in columns.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.hpp"
#include "jss/block.hpp"
#include "jss/layout.hpp"
#include "varve/jss_event.hpp"
#include "varve/result.hpp"

namespace varve::jss {

// The words of the faults of appending (section 5.1).
inline constexpr const char* k_field_too_long = "FieldTooLong";
inline constexpr const char* k_invalid_kind = "InvalidKind";
inline constexpr const char* k_block_full = "block-full";

class BlockBuilder {
 public:
  // Copies the row in. A refused row changes nothing. k_block_full: 2^18 rows are there, or the
  // body would exceed 2^30 bytes with this one; the caller ends the block and begins another.
  std::optional<Fault> append(const Event& event);
  std::uint32_t rows() const { return static_cast<std::uint32_t>(seq_.size()); }
  bool empty() const { return seq_.empty(); }
  // The size of the body that encode() would write.
  std::uint64_t body_bytes() const;
  // Appends the body to `out`.
  void encode(base::Bytes& out) const;
  // The rows as columns, good until the next append or clear.
  BlockColumns columns();
  void clear();

 private:
  struct Strings {
    std::vector<std::uint32_t> offsets{0};
    std::vector<char> data;
    void add(const char* from, std::size_t bytes);
    StringColumn column() const { return {offsets.data(), data.data()}; }
    std::uint32_t length(std::size_t row) const { return offsets[row + 1] - offsets[row]; }
    void clear();
  };

  std::vector<std::uint64_t> seq_;
  std::vector<std::int64_t> witnessed_at_;
  std::vector<std::int64_t> indexed_at_;
  std::vector<std::uint8_t> kind_;
  Strings collection_, did_, rkey_, rev_, payload_;
};

// Row `row` of decoded columns.
Event event_at(const BlockColumns& columns, std::size_t row);

}  // namespace varve::jss
