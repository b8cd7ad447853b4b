// SPDX-License-Identifier: MIT OR Apache-2.0
// Runs of zeros and of one short pattern in bytes that no unit accounts for. They tell a person
// what became of a stretch: never written, trimmed by the file system, filled by a tool.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/bytes.hpp"
#include "varve/store.hpp"

namespace varve::model {

// Shorter runs happen by chance, and say nothing.
inline constexpr std::uint64_t k_least_run_bytes = 32;
inline constexpr std::size_t k_most_pattern_bytes = 16;

// Takes a stretch in pieces and collects its runs. Linear in its length, with a constant of at most
// k_most_pattern_bytes compares a byte; memory is bounded by `most_marks`.
class RunFinder {
 public:
  // `offset`: of the stretch in its file.
  explicit RunFinder(std::uint64_t offset, std::size_t most_marks = 64)
      : most_marks_(most_marks), begin_(offset), at_(offset) {}

  void take(base::ByteSpan bytes);
  // As if `length` zero bytes had been taken: a hole of a sparse file.
  void take_zeros(std::uint64_t length);
  // The runs, ascending and without overlap. Where there are more than `most_marks` the first ones.
  std::vector<ByteMark> finish();

 private:
  void take_one(std::byte byte);
  void end_run(std::size_t period);

  std::size_t most_marks_;
  std::uint64_t begin_;
  std::uint64_t at_;
  std::array<std::byte, k_most_pattern_bytes> last_{};  // by offset modulo its size
  // Element p - 1: how many of the last bytes equal, without a break, those p before them.
  std::array<std::uint64_t, k_most_pattern_bytes> equal_{};
  std::uint64_t zeros_ = 0;  // that end at at_
  std::vector<ByteMark> marks_;
};

// The runs in [offset, offset + length) of a file; holes are not read. At most `budget_bytes` are
// read, and taken from the budget; what lies behind is not looked at.
Result<std::vector<ByteMark>> runs_of(const io::File& file, std::uint64_t offset,
                                      std::uint64_t length, std::uint64_t& budget_bytes);

}  // namespace varve::model
