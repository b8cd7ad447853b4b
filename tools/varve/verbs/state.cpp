// SPDX-License-Identifier: MIT OR Apache-2.0
// `varve state`: what the log adds up to, as JSON Lines.
#include "verbs/scan_verb.hpp"

namespace varve::cli {

namespace {

Result<int> print_state(Session& session, const std::string& path) {
  VARVE_ASSIGN(const Target target, locate_target(session, path));
  VARVE_ASSIGN(const ScanRequest request, scan_request(session, target, Face::state));
  VARVE_ASSIGN(const auto view, open_view(session, target));
  return print_rows(session, target, *view, request);
}

int run_state(Session& session) {
  const std::string& path = session.arguments().operands.front();
  const auto code = print_state(session, path);
  return code ? *code : session.report(code.error(), path);
}

const Registration k_state({
    .name = "state",
    .group = Group::read,
    .order = 2,
    .summary = "print what the log adds up to: jobs, allocations, documents, live records",
    .description =
        "Folds the log and prints the live things it leaves, one JSON object a line, sorted by "
        "id.\n\n"
        "A log that its format refuses is refused here too (exit code 2, also where `verify` says "
        "torn), unless --partial is given: then everything that can be proven is folded.",
    .operands = {{"STORE", "file or directory of any format"}},
    .examples = {{"state jobs/", "every live thing"},
                 {"state --partial hurt/",
                  "what can be proven, although the format refuses the log"}},
    .options = {{"json", "", "print a failure as a document on stdout too (lines are JSON anyway)"},
                {"partial", "", "fold what can be read although the format refuses the log"},
                {"limit", "N", "at most N lines"}},
    .shared = k_json_option | k_payload_option | k_findings_option | k_open_options,
    .run = run_state,
});

}  // namespace

}  // namespace varve::cli
