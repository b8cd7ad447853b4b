// SPDX-License-Identifier: MIT OR Apache-2.0
#include "model/tally.hpp"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

namespace varve::model {

// Values below 16 have a bucket each; above, a bucket is the top five bits of the value.
std::size_t Tally::bucket_of(std::uint64_t value) {
  if (value < (1U << k_step_bits)) {
    return static_cast<std::size_t>(value);
  }
  const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - k_step_bits - 1;
  return ((shift + 1ULL) << k_step_bits) + ((value >> shift) & ((1U << k_step_bits) - 1));
}

std::uint64_t Tally::largest_in(std::size_t bucket) {
  if (bucket < (1U << k_step_bits)) {
    return bucket;
  }
  const std::size_t shift = (bucket >> k_step_bits) - 1;
  const std::uint64_t top = (bucket & ((1U << k_step_bits) - 1)) | (1U << k_step_bits);
  return (top << shift) + ((std::uint64_t{1} << shift) - 1);
}

void Tally::add(std::uint64_t value) {
  ++buckets_[bucket_of(value)];
  ++by_bit_width_[static_cast<std::size_t>(std::bit_width(value))];
  ++count_;
  sum_ += value;
  minimum_ = std::min(minimum_, value);
  maximum_ = std::max(maximum_, value);
}

std::uint64_t Tally::quantile(double share) const {
  const auto rank = static_cast<std::uint64_t>(share * static_cast<double>(count_ - 1));
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < k_buckets; ++i) {
    below += buckets_[i];
    if (below > rank) {
      return std::clamp(largest_in(i), minimum_, maximum_);
    }
  }
  return maximum_;
}

Distribution Tally::finish(std::string name, std::string unit) const {
  Distribution out;
  out.name = std::move(name);
  out.unit = std::move(unit);
  if (count_ == 0) {
    return out;
  }
  out.count = count_;
  out.sum = sum_;
  out.minimum = minimum_;
  out.maximum = maximum_;
  out.p50 = quantile(0.5);
  out.p90 = quantile(0.9);
  out.p99 = quantile(0.99);
  const auto used = static_cast<std::ptrdiff_t>(std::bit_width(maximum_)) + 1;
  out.by_bit_width.assign(by_bit_width_.begin(), by_bit_width_.begin() + used);
  return out;
}

void CategoryTally::add(std::string_view name, std::uint64_t count, std::uint64_t bytes) {
  auto found = names_.find(name);
  if (found == names_.end()) {
    if (names_.size() >= most_names_) {
      others_.count += count;
      others_.bytes += bytes;
      return;
    }
    found = names_.emplace(name, Sum{}).first;
  }
  found->second.count += count;
  found->second.bytes += bytes;
}

Distribution CategoryTally::finish(std::string name, std::string unit) const {
  Distribution out;
  out.name = std::move(name);
  out.unit = std::move(unit);
  for (const auto& [category, sum] : names_) {
    out.categories.push_back({category, sum.count, sum.bytes});
  }
  std::sort(out.categories.begin(), out.categories.end(), [](const auto& a, const auto& b) {
    return std::tie(b.count, a.name) < std::tie(a.count, b.name);
  });
  if (others_.count != 0) {
    out.categories.push_back({"(others)", others_.count, others_.bytes});
  }
  return out;
}

}  // namespace varve::model
