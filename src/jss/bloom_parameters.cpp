// SPDX-License-Identifier: MIT OR Apache-2.0
// Section 9.4. The formulas are in double precision, in the order that the spec writes them: the
// result decides how many bytes a filter has, so it must equal other implementations'.
#include <algorithm>
#include <cmath>
#include <mutex>
#include <unordered_map>

#include "jss/bloom.hpp"
#include "jss/bloom_partitions.hpp"

namespace varve::jss {

namespace {

constexpr double k_ln2_squared = 0.4804530139182014;
constexpr double k_bits_a_block = 512;
// Enough for every size that the blocks of real archives have; beyond, the memory is given back.
constexpr std::size_t k_max_remembered = 65'536;

// The chance that a key's bits are all set in a block that holds `keys` keys.
double rate_in_block(std::uint32_t hash_count, double keys) {
  double rate = 1.0;
  for (const std::uint16_t part : bloom_parts(hash_count)) {
    rate *= 1 - std::pow(1 - 1 / static_cast<double>(part), keys);
  }
  return rate;
}

double expected_rate(std::uint64_t blocks, std::uint32_t hash_count, double items) {
  if (blocks == 0 || items == 0) {
    return 0;
  }
  const double load = items / static_cast<double>(blocks);
  if (load > 10'000) {
    return rate_in_block(hash_count, load);
  }
  const auto whole_load = static_cast<std::int64_t>(load);
  const auto last =
      static_cast<std::int64_t>(static_cast<double>(whole_load) + 10 * std::sqrt(load) + 20);
  double sum = 0;
  double log_factorial = 0;
  for (std::int64_t j = 0; j <= last; ++j) {
    const auto keys = static_cast<double>(j);
    if (j > 0) {
      log_factorial += std::log(keys);
    }
    const double weight = std::exp(-load + keys * std::log(load) - log_factorial);
    if (weight < 1e-15 && j > whole_load) {
      break;
    }
    if (j > 0) {
      sum += weight * rate_in_block(hash_count, keys);
    }
  }
  return sum;
}

std::uint32_t best_hash_count(std::uint64_t blocks, double items) {
  std::uint32_t best = k_min_hash_count;
  double best_rate = expected_rate(blocks, best, items);
  for (std::uint32_t k = k_min_hash_count + 1; k <= k_max_hash_count; ++k) {
    const double rate = expected_rate(blocks, k, items);
    if (rate < best_rate) {
      best = k;
      best_rate = rate;
    }
  }
  return best;
}

}  // namespace

double expected_bloom_rate(const BloomParameters& parameters, std::uint64_t items) {
  return expected_rate(parameters.blocks, parameters.hash_count, static_cast<double>(items));
}

BloomParameters compute_bloom_parameters(std::uint64_t items, double rate) {
  if (rate <= 0) {
    rate = 0.0001;
  } else if (rate >= 1) {
    rate = 0.99;
  }
  const auto n = static_cast<double>(std::max<std::uint64_t>(items, 1));
  const double bits_an_item = -std::log(rate) / k_ln2_squared;
  const double base = std::ceil(n * bits_an_item / k_bits_a_block);
  const auto limit = static_cast<std::uint64_t>(std::ceil(base * 4.0));
  BloomParameters out;
  out.blocks = static_cast<std::uint64_t>(base);
  out.hash_count = best_hash_count(out.blocks, n);
  while (expected_rate(out.blocks, out.hash_count, n) > rate && out.blocks < limit) {
    out.blocks = std::min(out.blocks + out.blocks / 8 + 1, limit);
    out.hash_count = best_hash_count(out.blocks, n);
  }
  return out;
}

BloomParameters bloom_parameters(std::uint64_t items) {
  static std::mutex mutex;
  static std::unordered_map<std::uint64_t, BloomParameters> remembered;
  {
    const std::lock_guard lock(mutex);
    if (const auto found = remembered.find(items); found != remembered.end()) {
      return found->second;
    }
  }
  const BloomParameters parameters = compute_bloom_parameters(items, k_bloom_rate);
  const std::lock_guard lock(mutex);
  if (remembered.size() >= k_max_remembered) {
    remembered.clear();
  }
  remembered.emplace(items, parameters);
  return parameters;
}

}  // namespace varve::jss
