// SPDX-License-Identifier: MIT OR Apache-2.0
// From the words behind a verb to Arguments, by the command table.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/command.hpp"

namespace varve::cli {

// Errors are ErrorCode::invalid_argument. With --help among the words, missing operands are none.
Result<Arguments> parse(const Command& command, std::span<const Format* const> formats,
                        const std::vector<std::string>& words);

}  // namespace varve::cli
