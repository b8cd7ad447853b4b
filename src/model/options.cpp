// SPDX-License-Identifier: MIT OR Apache-2.0
#include "model/options.hpp"

#include <charconv>

namespace varve::model {

Result<std::uint64_t> number_option(const std::map<std::string, std::string>& options,
                                    const std::string& name, std::uint64_t fallback) {
  const auto found = options.find(name);
  if (found == options.end()) {
    return fallback;
  }
  const std::string& text = found->second;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return fail(ErrorCode::invalid_argument, name, "--" + name + " " + text + ": no number");
  }
  return value;
}

}  // namespace varve::model
