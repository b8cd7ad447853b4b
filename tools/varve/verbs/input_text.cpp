// SPDX-License-Identifier: MIT OR Apache-2.0
#include "verbs/input_text.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>

namespace varve::cli {

namespace {

constexpr std::size_t k_most_bytes = std::size_t{16} << 20;

}  // namespace

Result<std::string> read_input(int descriptor, std::string_view what) {
  std::string text;
  std::array<char, 64 * 1024> buffer;
  for (;;) {
    const ssize_t n = ::read(descriptor, buffer.data(), buffer.size());
    if (n < 0 && errno != EINTR) {
      return fail_errno(errno, "read", "standard input");
    }
    if (n == 0) {
      return text;
    }
    text.append(buffer.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
    if (text.size() > k_most_bytes) {
      return fail(ErrorCode::limit, "limit", std::string(what) + " is longer than 16 MiB",
                  "standard input");
    }
  }
}

}  // namespace varve::cli
