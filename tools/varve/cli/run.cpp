// SPDX-License-Identifier: MIT OR Apache-2.0
// From the command line to a verb and back to an exit code.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>

#include "cli/exit_codes.hpp"
#include "cli/help.hpp"
#include "cli/parse.hpp"
#include "cli/session.hpp"
#include "output/report_json.hpp"

namespace varve::cli {

namespace {

// Ends a run: what could not be written decides, then the verb's own code.
int finish(Session& session, int code) {
  const auto written = session.out().finish();
  if (!written) {
    session.message(written.error().text());
    code = k_system_error;
  } else if (session.out().closed_by_reader()) {
    code = k_done;
  }
  session.err().flush();
  return code;
}

// A command line that names no verb that could run. There is no session yet.
int refuse(const Context& context, const std::vector<std::string>& words, std::string message) {
  Error error;
  error.code = ErrorCode::invalid_argument;
  error.reason = "usage";
  error.message = std::move(message);
  static const Command k_nothing{};
  Arguments arguments;
  if (std::find(words.begin(), words.end(), "--json") != words.end()) {
    arguments.options["json"] = {"1"};
  }
  Session session(context, k_nothing, std::move(arguments));
  return finish(session, session.report(error));
}

int print_text(const Context& context, const Command& command, Arguments arguments,
               std::string (*text)(const Session&)) {
  Session session(context, command, std::move(arguments));
  session.out().print(text(session));
  return finish(session, k_done);
}

std::string unknown_verb(const std::string& word) {
  std::string message = fmt::format("there is no verb '{}'", word);
  if (const Command* nearest = nearest_command(word)) {
    message += fmt::format("; did you mean `varve {}`?", nearest->name);
  }
  return message + " (`varve --help` lists the verbs)";
}

std::string program_help_text(const Session& session) {
  return program_help(session.context().formats, session.style(), session.width());
}
std::string command_help_text(const Session& session) {
  return command_help(session.command(), session.context().formats, session.style(),
                      session.width());
}
std::string version_output(const Session& session) {
  return version_text(session.context().formats);
}

int dispatch(const Context& context, const std::vector<std::string>& words) {
  static const Command k_program{};
  if (words.empty()) {
    Session session(context, k_program, {});
    session.err().print(program_help_text(session));
    return finish(session, k_usage);
  }
  const std::string& first = words.front();
  if (first == "--help" || first == "-h") {
    return print_text(context, k_program, {}, program_help_text);
  }
  if (first == "--version" || first == "-V") {
    return print_text(context, k_program, {}, version_output);
  }
  if (first.starts_with('-')) {
    return refuse(context, words, fmt::format("the verb comes first, then {}", first));
  }
  const Command* command = find_command(first);
  if (command == nullptr) {
    return refuse(context, words, unknown_verb(first));
  }
  auto arguments = parse(*command, context.formats, {words.begin() + 1, words.end()});
  if (!arguments) {
    return refuse(context, words, command->name + ": " + arguments.error().message);
  }
  if (arguments->has("help")) {
    return print_text(context, *command, *std::move(arguments), command_help_text);
  }
  Session session(context, *command, *std::move(arguments));
  return finish(session, command->run(session));
}

int confess(const Context& context, const char* what) {
  terminal::OutputStream err(context.error);
  err.print(
      fmt::format("varve: this is a bug in varve: {}\n"
                  "varve: please report it with this line and the command you gave\n",
                  what));
  return k_bug;
}

}  // namespace

int run(const Context& context, const std::vector<std::string>& arguments) noexcept {
  try {
    return dispatch(context, arguments);
  } catch (const std::bad_alloc&) {
    terminal::OutputStream err(context.error);
    err.print("varve: out of memory; --max-memory and --threads lower what is needed\n");
    return k_system_error;
  } catch (const std::exception& error) {
    return confess(context, error.what());
  }
}

}  // namespace varve::cli
