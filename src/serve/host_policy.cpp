// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/host_policy.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <utility>

#include "serve/http_head.hpp"

namespace varve::serve {

std::string_view host_name(std::string_view host_and_port) {
  if (host_and_port.starts_with('[')) {
    const std::size_t end = host_and_port.find(']');
    return end == std::string_view::npos ? host_and_port : host_and_port.substr(1, end - 1);
  }
  return host_and_port.substr(0, host_and_port.find(':'));
}

bool is_numeric_address(std::string_view host) {
  const std::string text(host);
  std::array<unsigned char, sizeof(in6_addr)> address{};
  return ::inet_pton(AF_INET, text.c_str(), address.data()) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), address.data()) == 1;
}

bool is_loopback(std::string_view host) {
  return equal_ignoring_case(host, "localhost") || host == "::1" ||
         (host.starts_with("127.") && is_numeric_address(host));
}

HostPolicy::HostPolicy(std::string listen, std::vector<std::string> allowed)
    : names_(std::move(allowed)), any_(names_.empty() && !is_loopback(listen)) {
  names_.push_back(std::move(listen));
  names_.emplace_back("localhost");
}

bool HostPolicy::allows(std::string_view host) const {
  const std::string_view name = host_name(host);
  return any_ || is_numeric_address(name) || std::ranges::any_of(names_, [&](const auto& known) {
           return equal_ignoring_case(known, name);
         });
}

bool HostPolicy::same_origin(std::string_view origin, std::string_view host) {
  const std::size_t colon = origin.find("://");
  return colon != std::string_view::npos && equal_ignoring_case(origin.substr(colon + 3), host);
}

}  // namespace varve::serve
