// SPDX-License-Identifier: MIT OR Apache-2.0
#include <sys/random.h>
#include <unistd.h>

#include <chrono>

#include "varve/file_system.hpp"

namespace varve::io {

namespace {

class SystemEnvironment final : public Environment {
 public:
  std::int64_t now_us() override { return now_ns() / 1000; }
  std::int64_t now_ns() override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
  void random(std::span<std::byte> out) override {
    while (!out.empty()) {
      const ssize_t n = ::getrandom(out.data(), out.size(), 0);
      if (n > 0) {
        out = out.subspan(static_cast<std::size_t>(n));
      }
    }
  }
  std::uint64_t process_id() override { return static_cast<std::uint64_t>(::getpid()); }
};

}  // namespace

Environment& system_environment() {
  static SystemEnvironment environment;
  return environment;
}

}  // namespace varve::io
