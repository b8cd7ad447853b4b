// SPDX-License-Identifier: MIT OR Apache-2.0
// Man pages (roff, man macros) from the command table.
#pragma once

#include <span>
#include <string>

#include "cli/command.hpp"

namespace varve::cli {

// varve(1)
std::string program_man_page(std::span<const Format* const> formats);
// varve-VERB(1)
std::string command_man_page(const Command& command, std::span<const Format* const> formats);

}  // namespace varve::cli
