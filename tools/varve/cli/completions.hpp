// SPDX-License-Identifier: MIT OR Apache-2.0
// Shell completions from the command table.
#pragma once

#include <span>
#include <string>

#include "cli/command.hpp"

namespace varve::cli {

std::string bash_completion(std::span<const Format* const> formats);
std::string zsh_completion(std::span<const Format* const> formats);
std::string fish_completion(std::span<const Format* const> formats);

}  // namespace varve::cli
