// SPDX-License-Identifier: MIT OR Apache-2.0
// `varve help`: the program, a verb, the exit codes.
#include "cli/help.hpp"

#include <fmt/format.h>

#include "cli/exit_codes.hpp"
#include "cli/session.hpp"

namespace varve::cli {

namespace {

int run_help(Session& session) {
  const std::vector<std::string>& operands = session.arguments().operands;
  const std::span<const Format* const> formats = session.context().formats;
  if (operands.empty()) {
    session.out().print(program_help(formats, session.style(), session.width()));
    return k_done;
  }
  const std::string& topic = operands.front();
  if (topic == "exit-codes") {
    session.out().print(exit_code_help(session.style(), session.width()));
    return k_done;
  }
  if (const Command* command = find_command(topic)) {
    session.out().print(command_help(*command, formats, session.style(), session.width()));
    return k_done;
  }
  return session.report(fail(ErrorCode::invalid_argument, "usage",
                             fmt::format("help: there is no topic '{}'; topics are the verbs and "
                                         "exit-codes",
                                         topic))
                            .error());
}

const Registration k_help({
    .name = "help",
    .group = Group::other,
    .order = 1,
    .summary = "help on a verb, or on exit-codes",
    .description = "Prints what `varve VERB --help` prints, or the table of exit codes.",
    .operands = {{"TOPIC", "a verb, or exit-codes", true}},
    .examples = {{"help exit-codes", "what each exit code means"}, {"help cat", "help on a verb"}},
    .run = run_help,
});

}  // namespace

}  // namespace varve::cli
