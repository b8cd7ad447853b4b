// SPDX-License-Identifier: MIT OR Apache-2.0
// Which handler answers which request. Filled before the server starts, then only read.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "serve/http.hpp"

namespace varve::serve {

struct Route {
  std::string path;                            // as registered; a prefix ends with "*" here
  std::map<std::string, HttpHandler> methods;  // by method, "*" for any; none: of WebSockets
  WebSocketRoute socket;
  bool is_socket() const { return methods.empty(); }
  // The handler of a method, or nullptr.
  const HttpHandler* handler(const std::string& method) const;
  // "GET, POST", for Allow.
  std::string allowed_methods() const;
};

class Router {
 public:
  void add(const std::string& method, const std::string& path, HttpHandler handler);
  // All paths that begin with `prefix` and have no route of their own; the longest prefix wins.
  void add_prefix(const std::string& method, const std::string& prefix, HttpHandler handler);
  void add(WebSocketRoute route);

  // The route of a path, or nullptr.
  const Route* find(std::string_view path) const;

 private:
  std::map<std::string, Route, std::less<>> exact_;
  std::map<std::string, Route, std::less<>> prefixes_;
};

}  // namespace varve::serve
