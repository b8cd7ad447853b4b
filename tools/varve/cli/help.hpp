// SPDX-License-Identifier: MIT OR Apache-2.0
// Help texts from the command table. Each begins with examples.
#pragma once

#include <span>
#include <string>

#include "cli/command.hpp"
#include "terminal/style.hpp"

namespace varve::cli {

// `varve --help`
std::string program_help(std::span<const Format* const> formats, const terminal::Style& style,
                         std::size_t width);
// `varve VERB --help`
std::string command_help(const Command& command, std::span<const Format* const> formats,
                         const terminal::Style& style, std::size_t width);
// `varve help exit-codes`
std::string exit_code_help(const terminal::Style& style, std::size_t width);
// `varve --version`
std::string version_text(std::span<const Format* const> formats);

// "varve verify [OPTIONS] STORE..."
std::string usage_line(const Command& command);
// "-o, --output FILE"
std::string option_heading(const Option& option);
// The help of an option with its choices.
std::string option_text(const Option& option);
std::string_view group_title(Group group);

}  // namespace varve::cli
