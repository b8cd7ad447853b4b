// SPDX-License-Identifier: MIT OR Apache-2.0
// `varve explain`: every byte, field by field.
#include "cli/exit_codes.hpp"
#include "cli/parse.hpp"
#include "output/explain_store.hpp"
#include "serve/remote_view.hpp"
#include "store/open.hpp"
#include "verbs/explain_output.hpp"
#include "verbs/scan_verb.hpp"

namespace varve::cli {

namespace {

// As locate_target; a file that is no store, but may be a member of one, is taken too.
Result<Target> locate_to_explain(const Session& session, const std::string& path) {
  auto target = locate_target(session, path);
  if (target || target.error().code != ErrorCode::not_a_store) {
    return target;
  }
  const Context& context = session.context();
  const Format* member_of = store::format_of_member(context.formats, context.files, path);
  if (member_of != nullptr) {
    return target_of(session, *member_of, path);
  }
  Error error = std::move(target).error();
  error.message += "; --format says as what to explain it";
  return std::unexpected(std::move(error));
}

// Findings of a text run go to stderr; those of a JSON run into the document.
Result<int> explain(Session& session, const std::string& path, const std::string& place) {
  VARVE_ASSIGN(const std::size_t limit, max_findings(session));
  VARVE_ASSIGN(const Target target, locate_to_explain(session, path));
  const FileAndOffset parsed = parse_file_and_offset(place);
  const ExplainRequest where{parsed.file, parsed.offset};
  std::unique_ptr<io::FileSystem> remote_files;
  if (serve::is_remote(target.path)) {
    VARVE_ASSIGN(remote_files, serve::open_remote_files(target.path, open_options(target)));
  }
  const output::ExplainTarget what{
      remote_files != nullptr ? remote_files.get() : &session.context().files, target.format,
      target.path, open_options(target)};
  if (session.json()) {
    FindingList findings(limit);
    JsonRows rows(session, target);
    output::StoreExplainer explainer(what, rows, findings);
    const auto verdict = explainer.run(where);
    rows.finish(verdict.value_or(Verdict::unknown), findings);
    if (!verdict) {
      session.message(verdict.error().text());
      return exit_code_of(verdict.error());
    }
    return exit_code(*verdict);
  }
  TextRows rows(session);
  FindingPrinter findings(session, target.path, limit);
  output::StoreExplainer explainer(what, rows, findings);
  const auto verdict = explainer.run(where);
  session.out().flush();
  findings.finish();
  if (!verdict) {
    return std::unexpected(verdict.error());
  }
  return exit_code(*verdict);
}

int run_explain(Session& session) {
  const std::vector<std::string>& operands = session.arguments().operands;
  std::string path = operands[0];
  std::string place = operands.size() > 1 ? operands[1] : "";
  // `STORE@OFFSET` in one word, unless a file has that very name.
  const FileAndOffset split = parse_file_and_offset(path);
  if (operands.size() == 1 && split.offset && !session.context().files.identity_of(path)) {
    place = path.substr(split.file.size());
    path = split.file;
  }
  const auto code = explain(session, path, place);
  return code ? *code : session.report(code.error(), path);
}

const Registration k_explain({
    .name = "explain",
    .group = Group::look,
    .order = 3,
    .summary = "every byte field by field: raw, decoded, what it means, whether its check holds",
    .description =
        "Prints the units of a store and their fields with offset, length, raw bytes, value and "
        "meaning. The lengths of a file's fields add up to the file. With an offset only the unit "
        "that holds this byte is printed.\n\n"
        "Nothing is too broken for it: a store that does not open is shown file by file, and a "
        "segment that was taken out of its store by itself. What belongs to no unit is shown as a "
        "stretch, in which runs of zeros, repeated patterns and whole units of an older state are "
        "marked with ~. Where the bytes do not tell the format, --format does.",
    .operands = {{"STORE", "file or directory of any format; STORE@OFFSET for one unit"},
                 {"FILE@OFFSET",
                  "a member of the store, an offset in it (decimal or 0x...), or both", true}},
    .examples = {{"explain events.jss @0", "the header"},
                 {"explain archive/ seg_0000000000.jss@4711", "the unit that holds this byte"},
                 {"explain --format tay 00000000000000000002.tay",
                  "a segment by itself, whatever its bytes look like"},
                 {"explain --json events.jss", "all of it, for a program"}},
    .shared = k_json_option | k_findings_option | k_open_options,
    .run = run_explain,
});

}  // namespace

}  // namespace varve::cli
