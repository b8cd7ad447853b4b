// SPDX-License-Identifier: MIT OR Apache-2.0
// Which names a server answers to. A page of any web site can make a browser ask a server on
// loopback under the site's own name (DNS rebinding) and read the answer; a server that knows its
// names refuses that.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace varve::serve {

class HostPolicy {
 public:
  // `listen`: the address the server listens on; `allowed`: further names. Any name will do where
  // the address is not of loopback and no name is given.
  HostPolicy(std::string listen, std::vector<std::string> allowed);

  // `host`: the value of a Host header, with or without a port. Numeric addresses always pass: no
  // name was looked up that could have been changed.
  bool allows(std::string_view host) const;
  // Whether a page of `origin` ("https://name:port") is of the host that a request names.
  static bool same_origin(std::string_view origin, std::string_view host);

 private:
  std::vector<std::string> names_;
  bool any_ = false;
};

// "name:8480" to "name", "[::1]:80" to "::1".
std::string_view host_name(std::string_view host_and_port);
bool is_numeric_address(std::string_view host);
bool is_loopback(std::string_view host);

}  // namespace varve::serve
