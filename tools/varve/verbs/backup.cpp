// SPDX-License-Identifier: MIT OR Apache-2.0
// `varve backup`: a consistent copy with a catalogue of hashes.
#include "cli/exit_codes.hpp"
#include "verbs/output_file.hpp"
#include "verbs/write_report.hpp"

namespace varve::cli {

namespace {

int run_backup(Session& session) {
  const std::string directory = session.arguments().value("output");
  if (directory.empty()) {
    return session.report(
        fail(ErrorCode::invalid_argument, "usage", "backup: -o DIR says where to copy to").error());
  }
  const auto free = check_new_path(session.context().files, directory);
  if (!free) {
    session.report(free.error().error);
    return free.error().exit_code;
  }
  return run_write(session, [&](const Target& target, const WriteRequest& request) {
    return target.format->backup(session.context().files, target.path, directory, request);
  });
}

const Registration k_backup({
    .name = "backup",
    .group = Group::write,
    .order = 6,
    .summary = "a consistent copy of a store, also of a live one, with SHA-256 sums",
    .description =
        "Copies the store into a new directory while its owner may go on writing: DIR/backup.json "
        "lists every file with its hash, DIR/SHA256SUMS is for `sha256sum -c`, and the copy lies "
        "beside them under the store's own name. DIR appears only when all of it is durable; every "
        "reading verb takes DIR for the store in it.",
    .operands = {{"STORE", "file or directory of any format"}},
    .examples = {{"backup events.jss -o copy", "copy a store that may be in use"},
                 {"verify copy", "check the copy"}},
    .options = {{"output", "DIR", "the new directory", 'o', false, "", false, true}},
    .shared = k_json_option | k_open_options | k_dry_run_option,
    .run = run_backup,
});

}  // namespace

}  // namespace varve::cli
