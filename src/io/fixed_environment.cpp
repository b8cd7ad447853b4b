// SPDX-License-Identifier: MIT OR Apache-2.0
#include "io/fixed_environment.hpp"

namespace varve::io {

std::int64_t FixedEnvironment::now_ns() {
  const std::lock_guard lock(mutex_);
  const std::int64_t now = now_ns_;
  now_ns_ += step_ns_;
  return now;
}

void FixedEnvironment::set_now_ns(std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  now_ns_ = now_ns;
}

void FixedEnvironment::advance_ns(std::int64_t step_ns) {
  const std::lock_guard lock(mutex_);
  now_ns_ += step_ns;
}

void FixedEnvironment::random(std::span<std::byte> out) {
  const std::lock_guard lock(mutex_);
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (i % 8 == 0) {  // SplitMix64
      random_state_ += 0x9E3779B97F4A7C15;
      word = random_state_;
      word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9;
      word = (word ^ (word >> 27)) * 0x94D049BB133111EB;
      word ^= word >> 31;
    }
    out[i] = static_cast<std::byte>(word >> (i % 8 * 8));
  }
}

}  // namespace varve::io
