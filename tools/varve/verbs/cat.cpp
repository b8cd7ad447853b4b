// SPDX-License-Identifier: MIT OR Apache-2.0
// `varve cat`: the log as JSON Lines.
#include "cli/exit_codes.hpp"
#include "verbs/scan_verb.hpp"

namespace varve::cli {

namespace {

Result<int> cat(Session& session, const std::string& path) {
  VARVE_ASSIGN(const Target target, locate_target(session, path));
  VARVE_ASSIGN(const ScanRequest request, scan_request(session, target, Face::log));
  VARVE_ASSIGN(const auto view, open_view(session, target));
  if (session.has("plan")) {
    VARVE_ASSIGN(const Json plan, view->plan(request));
    session.print_json(plan);
    return k_done;
  }
  return print_rows(session, target, *view, request);
}

int run_cat(Session& session) {
  const std::string& path = session.arguments().operands.front();
  const auto code = cat(session, path);
  return code ? *code : session.report(code.error(), path);
}

const Registration k_cat({
    .name = "cat",
    .group = Group::read,
    .order = 1,
    .summary = "print the log: one record a line, as JSON",
    .description =
        "Prints records in log order as JSON Lines. Filters are pushed down to headers, indexes "
        "and "
        "blooms, so that what cannot match is not read.\n\n"
        "Damage does not stop it: every record that can be proven intact is printed, each gap is "
        "named on stderr, and the exit code is 2. A torn tail prints what is whole and gives 1.",
    .operands = {{"STORE", "file or directory of any format"}},
    .examples = {{"cat events.jss | jq .kind", "every record, one JSON object a line"},
                 {"cat --seq 1000..1999 --payload none events.jss", "a range, without payloads"},
                 {"cat --reverse --limit 10 events.jss", "the ten newest"}},
    .options = {{"json", "", "print a failure as a document on stdout too (lines are JSON anyway)"},
                {"strict", "", "stop at the first fault"},
                {"plan", "", "print what would be read, and why, instead"}},
    .shared = k_json_option | k_log_options | k_payload_option | k_findings_option | k_open_options,
    .run = run_cat,
});

}  // namespace

}  // namespace varve::cli
