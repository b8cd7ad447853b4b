// SPDX-License-Identifier: MIT OR Apache-2.0
// `varve seal`: ends the growing segment.
#include "verbs/write_report.hpp"

namespace varve::cli {

namespace {

int run_seal(Session& session) {
  return run_write(session, [&](const Target& target, const WriteRequest& request) {
    return target.format->seal(session.context().files, target.path, request);
  });
}

const Registration k_seal({
    .name = "seal",
    .group = Group::write,
    .order = 3,
    .summary = "close the growing segment for good, with footer and checksums",
    .description = "Writes what ends a segment: footer, indexes, checksums. Afterwards nothing is "
                   "appended to it any more.",
    .operands = {{"STORE", "file or directory"}},
    .examples = {{"seal events.jss", "seal an active segment"},
                 {"seal --dry-run events.jss", "what sealing would write"}},
    .shared = k_json_option | k_open_options | k_dry_run_option,
    .run = run_seal,
});

}  // namespace

}  // namespace varve::cli
