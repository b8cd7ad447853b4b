// SPDX-License-Identifier: MIT OR Apache-2.0
// `varve recover`: the format's own recovery, in place.
#include "verbs/write_report.hpp"

namespace varve::cli {

namespace {

int run_recover(Session& session) {
  return run_write(session, [&](const Target& target, const WriteRequest& request) {
    return target.format->recover(session.context().files, target.path, request);
  });
}

const Registration k_recover({
    .name = "recover",
    .group = Group::write,
    .order = 4,
    .summary = "the format's own recovery after a crash, in place",
    .description = "Does what the format's own engine does when it opens a store after a crash, "
                   "and nothing else. It refuses where a committed unit is damaged (exit code 2). "
                   "Run it with --dry-run first.",
    .operands = {{"STORE", "file or directory"}},
    .examples = {{"recover events.jss", "cut or complete what a crash left unfinished"},
                 {"recover --dry-run events.jss", "show what would be written, change nothing"}},
    .shared = k_json_option | k_open_options | k_dry_run_option,
    .run = run_recover,
});

}  // namespace

}  // namespace varve::cli
