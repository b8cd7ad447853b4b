// SPDX-License-Identifier: MIT OR Apache-2.0
// `varve plan`: what a client of an archive should download.
#include <unistd.h>

#include <array>
#include <cerrno>

#include "cli/exit_codes.hpp"
#include "cli/open.hpp"
#include "verbs/scan_verb.hpp"

namespace varve::cli {

namespace {

constexpr std::size_t k_most_body_bytes = std::size_t{16} << 20;

// The request body from stdin, all of it.
Result<std::string> read_body(int descriptor) {
  std::string body;
  std::array<char, 64 * 1024> buffer;
  for (;;) {
    const ssize_t n = ::read(descriptor, buffer.data(), buffer.size());
    if (n < 0 && errno != EINTR) {
      return fail_errno(errno, "read", "standard input");
    }
    if (n == 0) {
      return body;
    }
    body.append(buffer.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
    if (body.size() > k_most_body_bytes) {
      return fail(ErrorCode::limit, "limit", "the request is longer than 16 MiB", "standard input");
    }
  }
}

Result<int> plan(Session& session, const std::string& path) {
  VARVE_ASSIGN(const Target target, locate_target(session, path));
  VARVE_ASSIGN(const ScanRequest request, scan_request(session, target, Face::log));
  std::string body;
  if (session.has("stdin")) {
    VARVE_ASSIGN(body, read_body(session.context().input));
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
