// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/http.hpp"

#include <algorithm>

namespace varve::serve {

bool HeaderOrder::operator()(std::string_view a, std::string_view b) const {
  return std::ranges::lexicographical_compare(a, b, {}, ascii_lower, ascii_lower);
}

const std::string* HttpRequest::parameter(const std::string& name) const {
  const auto found = parameters.find(name);
  return found == parameters.end() ? nullptr : &found->second;
}

const std::string* HttpRequest::header(std::string_view name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? nullptr : &found->second;
}

}  // namespace varve::serve
