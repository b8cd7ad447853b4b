// SPDX-License-Identifier: MIT OR Apache-2.0
// A short text that a verb takes from stdin as a whole.
#pragma once

#include <string>
#include <string_view>

#include "varve/result.hpp"

namespace varve::cli {

// All of the input, at most 16 MiB; `what` names it in the error for more.
Result<std::string> read_input(int descriptor, std::string_view what);

}  // namespace varve::cli
