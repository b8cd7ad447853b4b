// SPDX-License-Identifier: MIT OR Apache-2.0
#include "model/options.hpp"

#include "base/whole_number.hpp"

namespace varve::model {

Result<std::uint64_t> number_option(const std::map<std::string, std::string>& options,
                                    const std::string& name, std::uint64_t fallback) {
  const auto found = options.find(name);
  if (found == options.end()) {
    return fallback;
  }
  const std::string& text = found->second;
  const auto value = base::whole_number<std::uint64_t>(text);
  if (!value) {
    return fail(ErrorCode::invalid_argument, name, "--" + name + " " + text + ": no number");
  }
  return *value;
}

}  // namespace varve::model
