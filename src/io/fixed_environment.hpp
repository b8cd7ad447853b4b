// SPDX-License-Identifier: MIT OR Apache-2.0
// A clock, randomness and process id that repeat exactly, for tests and simulations. Thread-safe.
#pragma once

#include <mutex>

#include "varve/file_system.hpp"

namespace varve::io {

class FixedEnvironment final : public Environment {
 public:
  // The clock begins at `start_ns` (nanoseconds since 1970) and moves on by `step_ns` each time it
  // is asked; 0 makes it stand still.
  explicit FixedEnvironment(std::int64_t start_ns = 1'704'067'200'000'000'000,
                            std::int64_t step_ns = 0, std::uint64_t seed = 1,
                            std::uint64_t process_id = 4242)
      : now_ns_(start_ns), step_ns_(step_ns), random_state_(seed), process_id_(process_id) {}

  std::int64_t now_us() override { return now_ns() / 1000; }
  std::int64_t now_ns() override;
  void random(std::span<std::byte> out) override;
  std::uint64_t process_id() override { return process_id_; }

  void set_now_ns(std::int64_t now_ns);
  void advance_ns(std::int64_t step_ns);

 private:
  std::mutex mutex_;
  std::int64_t now_ns_;
  std::int64_t step_ns_;
  std::uint64_t random_state_;
  std::uint64_t process_id_;
};

}  // namespace varve::io
