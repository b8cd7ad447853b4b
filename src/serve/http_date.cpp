// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/http_date.hpp"

#include <array>

namespace varve::serve {

std::string http_date(std::time_t time) {
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  std::array<char, 40> text{};
  const std::size_t size =
      std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return {text.data(), size};
}

std::optional<std::time_t> parse_http_date(const std::string& text) {
  std::tm parts{};
  const char* end = ::strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  if (end == nullptr || *end != '\0') {
    return std::nullopt;
  }
  return ::timegm(&parts);
}

}  // namespace varve::serve
