// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/session.hpp"

#include <utility>

#include "cli/exit_codes.hpp"
#include "output/report_json.hpp"

namespace varve::cli {

Session::Session(const Context& context, const Command& command, Arguments arguments)
    : context_(context),
      command_(command),
      arguments_(std::move(arguments)),
      out_(context.output),
      err_(context.error),
      style_(
          terminal::wants_colour(arguments_.value("color"), terminal::is_terminal(context.output))),
      error_style_(terminal::wants_colour(arguments_.value("color"),
                                          terminal::is_terminal(context.error))) {}

std::size_t Session::width() const {
  return static_cast<std::size_t>(terminal::terminal_width(context_.output));
}

terminal::ProgressMode Session::progress_mode() const {
  return terminal::progress_mode(arguments_.value("progress"),
                                 terminal::is_terminal(context_.error));
}

void Session::message(std::string_view text) {
  err_.print("varve: " + terminal::printable(text) + '\n');
}

void Session::print_json(const Json& json) {
  std::string text;
  if (terminal::is_terminal(context_.output)) {
    json.write_pretty(text, int64_as_string());
  } else {
    json.write(text, int64_as_string());
  }
  out_.print(text + '\n');
}

int Session::report(const Error& error, const std::string& path) {
  Error full = error;
  if (full.path.empty()) {
    full.path = path;
  }
  const int code = exit_code_of(full);
  message(full.text());
  if (json()) {
    print_json(output::error_json(full, code));
  }
  return code;
}

int exit_code_of(const Error& error) {
  if (error.reason == "duckdb_missing") {
    return k_cannot_create;
  }
  return error.reason == "not_offered" ? k_usage : exit_code(error);
}

}  // namespace varve::cli
