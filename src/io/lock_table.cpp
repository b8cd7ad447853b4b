// SPDX-License-Identifier: MIT OR Apache-2.0
// Who holds a lock, without asking for it: the system's table of locks.
#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <string>
#include <string_view>

#include "io/posix_calls.hpp"

namespace varve::io {

namespace {

std::string read_table() {
  std::string text;
  const Descriptor table(::open("/proc/locks", O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> buffer;
  while (table.valid()) {
    const ssize_t n = ::read(table.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
  return text;
}

}  // namespace

bool flock_is_held(std::uint64_t device, std::uint64_t inode) {
  // A line: "1: FLOCK  ADVISORY  WRITE 3096 fe:00:10952936 0 EOF"
  std::array<char, 64> place{};
  std::snprintf(place.data(), place.size(), " %02x:%02x:%llu ", gnu_dev_major(device),
                gnu_dev_minor(device), static_cast<unsigned long long>(inode));
  const std::string table = read_table();
  std::string_view rest = table;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const bool waiting = line.find("->") != std::string_view::npos;
    if (!waiting && line.find(" FLOCK ") != std::string_view::npos &&
        line.find(" WRITE ") != std::string_view::npos &&
        line.find(place.data()) != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

}  // namespace varve::io
