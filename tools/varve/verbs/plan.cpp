// SPDX-License-Identifier: MIT OR Apache-2.0
// `varve plan`: what a client of an archive should download.
#include "cli/exit_codes.hpp"
#include "cli/open.hpp"
#include "verbs/input_text.hpp"
#include "verbs/scan_verb.hpp"

namespace varve::cli {

namespace {

Result<int> plan(Session& session, const std::string& path) {
  VARVE_ASSIGN(const Target target, locate_target(session, path));
  VARVE_ASSIGN(const ScanRequest request, scan_request(session, target, Face::log));
  std::string body;
  if (session.has("stdin")) {
    VARVE_ASSIGN(body, read_input(session.context().input, "the request"));
  }
  VARVE_ASSIGN(const auto view, open_view(session, target));
  VARVE_ASSIGN(const Json document, view->snapshot_plan(request, body));
  session.print_json(document);
  return k_done;
}

int run_plan(Session& session) {
  const std::string& path = session.arguments().operands.front();
  const auto code = plan(session, path);
  return code ? *code : session.report(code.error(), path);
}

const Registration k_plan({
    .name = "plan",
    .group = Group::read,
    .order = 4,
    .summary = "which segments and blocks a client of an archive should download",
    .description =
        "Prints the download plan that the archive's server would answer: which segments and "
        "blocks "
        "may hold matching records. The request comes from the options, or as JSON from stdin.",
    .operands = {{"ARCHIVE", "directory of segments"}},
    .examples = {{"plan archive/", "everything"},
                 {"plan --stdin archive/ < request.json", "a request as a client would send it"}},
    .options = {{"stdin", "", "read the request as JSON from stdin"},
                {"seq", "A..B", "only sequence numbers A to B, both included; A.. and ..B too"}},
    .shared = k_json_option | k_open_options,
    .run = run_plan,
});

}  // namespace

}  // namespace varve::cli
