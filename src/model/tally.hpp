// SPDX-License-Identifier: MIT OR Apache-2.0
// Counting for `stats`, in memory that does not grow with the number of values.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "varve/store.hpp"

namespace varve::model {

// Numeric values: a histogram of 16 steps a power of two.
class Tally {
 public:
  void add(std::uint64_t value);
  Distribution finish(std::string name, std::string unit) const;

 private:
  static constexpr unsigned k_step_bits = 4;
  static constexpr std::size_t k_buckets = (64 - k_step_bits + 1) << k_step_bits;
  static std::size_t bucket_of(std::uint64_t value);
  static std::uint64_t largest_in(std::size_t bucket);
  std::uint64_t quantile(double share) const;

  std::array<std::uint64_t, k_buckets> buckets_{};
  std::array<std::uint64_t, 65> by_bit_width_{};
  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t minimum_ = UINT64_MAX;
  std::uint64_t maximum_ = 0;
};

// Named things. At most `most_names` names are kept; what comes later under a new name is counted
// as "(others)".
class CategoryTally {
 public:
  explicit CategoryTally(std::size_t most_names = 10'000) : most_names_(most_names) {}
  void add(std::string_view name, std::uint64_t count = 1, std::uint64_t bytes = 0);
  // Most frequent first, the same order on every run.
  Distribution finish(std::string name, std::string unit = {}) const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  struct Sum {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
  };
  std::size_t most_names_;
  std::unordered_map<std::string, Sum, Hash, std::equal_to<>> names_;
  Sum others_;
};

}  // namespace varve::model
