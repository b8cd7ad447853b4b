// SPDX-License-Identifier: MIT OR Apache-2.0
// `varve init`: a new, empty store.
#include "cli/exit_codes.hpp"
#include "verbs/write_report.hpp"

namespace varve::cli {

namespace {

int run_init(Session& session) {
  const std::string& path = session.arguments().operands.front();
  const auto target = new_target(session, path);
  if (!target) {
    return session.report(target.error(), path);
  }
  const auto report =
      target->format->init(session.context().files, target->path, write_request(session, *target));
  if (!report) {
    return session.report(report.error(), path);
  }
  print_write_report(session, *target, *report);
  return k_done;
}

const Registration k_init({
    .name = "init",
    .group = Group::write,
    .order = 1,
    .summary = "make a new, empty store",
    .description = "Makes an empty store of the format that --format names. Nothing that is there "
                   "already is touched (exit code 73).",
    .operands = {{"STORE", "path of the new store"}},
    .examples = {{"init --format jss events.jss", "an empty event segment"}},
    .shared = k_json_option | k_open_options | k_dry_run_option,
    .run = run_init,
});

}  // namespace

}  // namespace varve::cli
