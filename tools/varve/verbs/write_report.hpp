// SPDX-License-Identifier: MIT OR Apache-2.0
// What the writing verbs have in common: finding the store, calling its format, saying what was
// written.
#pragma once

#include <functional>
#include <string>

#include "cli/open.hpp"
#include "cli/session.hpp"

namespace varve::cli {

// Prints what a writing verb did, or would do.
void print_write_report(Session& session, const Target& target, const WriteReport& report);

using WriteCall = std::function<Result<WriteReport>(const Target&, const WriteRequest&)>;

// Locates the first operand, calls, prints; gives the exit code.
int run_write(Session& session, const WriteCall& call);

}  // namespace varve::cli
