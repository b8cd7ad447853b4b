// SPDX-License-Identifier: MIT OR Apache-2.0
#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/bytes.hpp"
#include "serve/remote_view.hpp"
#include "varve/file_system.hpp"

namespace varve::serve {

namespace {

constexpr std::size_t k_most_key_bytes = 4096;

// What may stand in a header: a key with a line end in it would be a second header.
bool is_plain_key(const std::string& key) {
  return std::ranges::all_of(key, [](char c) { return c > 0x20 && c < 0x7F; });
}

}  // namespace

Result<std::string> read_api_key(const std::string& path) {
  std::string key;
  if (path.empty()) {
    const char* value = std::getenv("VARVE_API_KEY");
    key = value != nullptr ? value : "";
  } else {
    VARVE_ASSIGN(const auto file, io::posix_file_system().open_file(path, io::OpenMode::read));
    std::array<std::byte, k_most_key_bytes> bytes{};
    VARVE_ASSIGN(const std::size_t n, file->read_at(bytes, 0));
    key = base::as_text(base::ByteSpan(bytes).first(n));
  }
  while (key.ends_with('\n') || key.ends_with('\r') || key.ends_with(' ')) {
    key.pop_back();
  }
  if (key.size() >= k_most_key_bytes || !is_plain_key(key) || (key.empty() && !path.empty())) {
    return fail(ErrorCode::invalid_argument, "usage",
                "the API key is to be one line of plain characters",
                path.empty() ? "VARVE_API_KEY" : path);
  }
  return key;
}

}  // namespace varve::serve
