// SPDX-License-Identifier: MIT OR Apache-2.0
// Values of the formats' own options.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "varve/result.hpp"

namespace varve::model {

// An option that is a whole number in decimal; `fallback` where it is absent.
// ErrorCode::invalid_argument, with the option's name as reason, for any other text.
Result<std::uint64_t> number_option(const std::map<std::string, std::string>& options,
                                    const std::string& name, std::uint64_t fallback);

}  // namespace varve::model
