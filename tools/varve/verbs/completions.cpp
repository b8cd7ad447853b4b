// SPDX-License-Identifier: MIT OR Apache-2.0
// `varve completions`: completion scripts for shells.
#include "cli/completions.hpp"

#include <fmt/format.h>

#include "cli/exit_codes.hpp"
#include "cli/session.hpp"

namespace varve::cli {

namespace {

int run_completions(Session& session) {
  const std::string& shell = session.arguments().operands.front();
  const std::span<const Format* const> formats = session.context().formats;
  if (shell == "bash") {
    session.out().print(bash_completion(formats));
  } else if (shell == "zsh") {
    session.out().print(zsh_completion(formats));
  } else if (shell == "fish") {
    session.out().print(fish_completion(formats));
  } else {
    return session.report(fail(ErrorCode::invalid_argument, "usage",
                               fmt::format("completions: '{}' is none of bash, zsh, fish", shell))
                              .error());
  }
  return k_done;
}

const Registration k_completions({
    .name = "completions",
    .group = Group::other,
    .order = 2,
    .summary = "print a completion script for bash, zsh or fish",
    .description = "Prints a script that completes verbs, options, their values and file names.",
    .operands = {{"SHELL", "bash, zsh or fish"}},
    .examples = {{"completions bash > ~/.local/share/bash-completion/completions/varve",
                  "for one user"}},
    .run = run_completions,
});

}  // namespace

}  // namespace varve::cli
