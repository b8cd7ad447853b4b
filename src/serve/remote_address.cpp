// SPDX-License-Identifier: MIT OR Apache-2.0
#include <algorithm>

#include "jss/names.hpp"
#include "serve/remote_http.hpp"

namespace varve::serve {

namespace {

constexpr std::size_t k_most_url_bytes = 2048;

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

}  // namespace

bool is_remote(std::string_view store) {
  return store.starts_with("http://") || store.starts_with("https://");
}

Result<RemoteAddress> RemoteAddress::parse(const std::string& url) {
  const auto refuse = [&](const char* why) {
    return fail(ErrorCode::invalid_argument, "usage",
                std::string(why) + "; a remote archive is http://HOST[:PORT][/PATH]", url);
  };
  if (!is_remote(url) || url.size() > k_most_url_bytes) {
    return refuse("this is no address");
  }
  if (!std::ranges::all_of(url, [](char c) {
        return is_plain(c) || std::string_view(":/[]%").find(c) != std::string_view::npos;
      })) {
    return refuse("an address has no user name, query, fragment or spaces");
  }
  const std::size_t host = url.find("://") + 3;
  const std::size_t path = std::min(url.find('/', host), url.size());
  if (path == host || url[host] == ':') {
    return refuse("the address names no host");
  }
  RemoteAddress out;
  out.origin = url.substr(0, path);
  out.base_path = url.substr(path);
  while (out.base_path.ends_with('/')) {
    out.base_path.pop_back();
  }
  const std::size_t last = out.base_path.rfind('/');
  if (last != std::string::npos && jss::segment_number(out.base_path.substr(last + 1))) {
    out.segment = out.base_path.substr(last + 1);
    out.base_path.resize(last);
  }
  return out;
}

std::string encode_in_query(std::string_view text) {
  constexpr std::string_view k_digits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (is_plain(c)) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += {'%', k_digits[byte >> 4], k_digits[byte & 15]};
    }
  }
  return out;
}

}  // namespace varve::serve
