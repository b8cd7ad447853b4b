// SPDX-License-Identifier: MIT OR Apache-2.0
// How much memory a piece of work takes at most. Sanitizers' shadow counts too, so that such tests
// look at address_sanitized() and thread_sanitized() first.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <stdexcept>

namespace varve::test {

// Does the work in a child, so that its peak memory is its own. Gives the peak in bytes.
template <class Work>
std::uint64_t peak_of(Work work) {
  int ends[2];
  if (::pipe(ends) != 0) {
    throw std::runtime_error("pipe");
  }
  const pid_t child = ::fork();
  if (child == 0) {
    std::uint64_t peak = 0;
    work();
    if (std::FILE* status = std::fopen("/proc/self/status", "r")) {
      char line[256];
      while (std::fgets(line, sizeof line, status) != nullptr) {
        unsigned long kib = 0;
        if (std::sscanf(line, "VmHWM: %lu", &kib) == 1) {
          peak = std::uint64_t{kib} * 1024;
        }
      }
      std::fclose(status);
    }
    const bool written = ::write(ends[1], &peak, sizeof peak) == sizeof peak;
    ::_exit(written ? 0 : 1);
  }
  std::uint64_t peak = 0;
  const bool got = ::read(ends[0], &peak, sizeof peak) == sizeof peak;
  ::close(ends[0]);
  ::close(ends[1]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(got && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  return peak;
}

}  // namespace varve::test
