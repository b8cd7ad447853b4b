// SPDX-License-Identifier: MIT OR Apache-2.0
// `varve compact`: rewrites a store without what is dead.
#include "verbs/write_report.hpp"

namespace varve::cli {

namespace {

int run_compact(Session& session) {
  return run_write(session, [&](const Target& target, const WriteRequest& request) {
    return target.format->compact(session.context().files, target.path, request);
  });
}

const Registration k_compact({
    .name = "compact",
    .group = Group::write,
    .order = 5,
    .summary = "rewrite the store without what is dead",
    .description = "Rewrites a closed store so that it holds what is alive and no more. What is "
                   "replaced stays valid until the new bytes are durable.",
    .operands = {{"STORE", "file or directory"}},
    .examples = {{"compact heap.kladde", "make the file small"},
                 {"compact --dry-run heap.kladde", "show what would be rewritten"}},
    .shared = k_json_option | k_open_options | k_dry_run_option,
    .run = run_compact,
});

}  // namespace

}  // namespace varve::cli
