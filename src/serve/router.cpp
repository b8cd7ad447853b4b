// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/router.hpp"

#include <ranges>
#include <utility>

namespace varve::serve {

const HttpHandler* Route::handler(const std::string& method) const {
  auto found = methods.find(method);
  if (found == methods.end()) {
    found = methods.find("*");
  }
  return found == methods.end() ? nullptr : &found->second;
}

std::string Route::allowed_methods() const {
  if (is_socket()) {
    return "GET";
  }
  std::string out;
  for (const auto& method : methods | std::views::keys) {
    out += (out.empty() ? "" : ", ") + method;
  }
  return out;
}

void Router::add(const std::string& method, const std::string& path, HttpHandler handler) {
  Route& route = exact_[path];
  route.path = path;
  route.methods[method] = std::move(handler);
}

void Router::add_prefix(const std::string& method, const std::string& prefix, HttpHandler handler) {
  Route& route = prefixes_[prefix];
  route.path = prefix + "*";
  route.methods[method] = std::move(handler);
}

void Router::add(WebSocketRoute route) {
  Route& place = exact_[route.path];
  place.path = route.path;
  place.socket = std::move(route);
}

const Route* Router::find(std::string_view path) const {
  if (const auto found = exact_.find(path); found != exact_.end()) {
    return &found->second;
  }
  const Route* longest = nullptr;
  for (const auto& [prefix, route] : prefixes_) {
    if (path.starts_with(prefix)) {
      longest = &route;  // they ascend, so a longer one comes later
    }
  }
  return longest;
}

}  // namespace varve::serve
