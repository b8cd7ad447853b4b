// SPDX-License-Identifier: MIT OR Apache-2.0
// What a verb works with: the world around the program, its arguments, its two output streams.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/command.hpp"
#include "terminal/progress.hpp"
#include "terminal/stream.hpp"
#include "terminal/style.hpp"
#include "varve/store.hpp"

namespace varve::cli {

// The world around one run of the program. Tests make their own.
struct Context {
  std::span<const Format* const> formats;
  io::FileSystem& files;
  io::Environment& environment;
  int input = 0;
  int output = 1;
  int error = 2;
};

class Session {
 public:
  Session(const Context& context, const Command& command, Arguments arguments);

  const Context& context() const { return context_; }
  const Command& command() const { return command_; }
  const Arguments& arguments() const { return arguments_; }
  bool has(std::string_view option) const { return arguments_.has(option); }

  terminal::OutputStream& out() { return out_; }
  terminal::OutputStream& err() { return err_; }
  const terminal::Style& style() const { return style_; }              // of stdout
  const terminal::Style& error_style() const { return error_style_; }  // of stderr
  std::size_t width() const;                                           // columns for text on stdout

  bool json() const { return arguments_.has("json"); }
  bool int64_as_string() const { return arguments_.value("int64") == "string"; }
  terminal::ProgressMode progress_mode() const;

  // A line on stderr, "varve: " before it.
  void message(std::string_view text);
  // A document on stdout: one line, or indented where a person reads it.
  void print_json(const Json& json);
  // Says what went wrong: on stderr, and with --json also as varve.error/1 on stdout. Gives the
  // exit code. `path` is used where the error names none.
  int report(const Error& error, const std::string& path = {});

 private:
  const Context& context_;
  const Command& command_;
  Arguments arguments_;
  terminal::OutputStream out_;
  terminal::OutputStream err_;
  terminal::Style style_;
  terminal::Style error_style_;
};

// The exit code of an error: CONTRACT section 2, and 64 where a format does not offer the verb.
int exit_code_of(const Error& error);

// Runs the program with `arguments` (without its own name) and gives its exit code. Throws nothing.
int run(const Context& context, const std::vector<std::string>& arguments) noexcept;

}  // namespace varve::cli
