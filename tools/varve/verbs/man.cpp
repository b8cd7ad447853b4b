// SPDX-License-Identifier: MIT OR Apache-2.0
// `varve man`: man pages.
#include "cli/man.hpp"

#include <fmt/format.h>

#include "cli/exit_codes.hpp"
#include "cli/session.hpp"

namespace varve::cli {

namespace {

int run_man(Session& session) {
  const std::vector<std::string>& operands = session.arguments().operands;
  const std::span<const Format* const> formats = session.context().formats;
  if (operands.empty()) {
    session.out().print(program_man_page(formats));
    return k_done;
  }
  const Command* command = find_command(operands.front());
  if (command == nullptr) {
    return session.report(fail(ErrorCode::invalid_argument, "usage",
                               fmt::format("man: there is no verb '{}'", operands.front()))
                              .error());
  }
  session.out().print(command_man_page(*command, formats));
  return k_done;
}

const Registration k_man({
    .name = "man",
    .group = Group::other,
    .order = 3,
    .summary = "print a man page",
    .description = "Prints varve(1), or the page of a verb, as roff.",
    .operands = {{"VERB", "a verb; without one the page of the program", true}},
    .examples = {{"man verify | man -l -", "read a page"},
                 {"man cat > varve-cat.1", "write one to a file"}},
    .run = run_man,
});

}  // namespace

}  // namespace varve::cli
