// SPDX-License-Identifier: MIT OR Apache-2.0
#include "verbs/scan_verb.hpp"

#include <fmt/format.h>

#include "output/json_lines.hpp"
#include "terminal/numbers.hpp"
#include "verbs/verify_text.hpp"

namespace varve::cli {

void FindingPrinter::add(Finding finding) {
  if (finding.severity == Severity::note) {
    return;
  }
  if (finding.severity == Severity::error) {
    ++errors_;
  }
  if (++seen_ > limit_) {
    return;
  }
  std::string text = fmt::format("{}: {}: {}: {}", store_, place_of(finding),
                                 to_text(finding.severity), finding.code);
  if (!finding.message.empty()) {
    text += ": " + finding.message;
  }
  if (const std::string values = disagreement_of(finding); !values.empty()) {
    text += fmt::format(" ({})", values);
  }
  session_.message(text);
}

void FindingPrinter::finish() {
  if (seen_ > limit_) {
    session_.message(fmt::format("{}: and {} more; `varve verify` lists them", store_,
                                 terminal::counted(seen_ - limit_, "finding")));
  }
}

Result<ScanRequest> scan_request(const Session& session, const Target& target, Face face) {
  ScanRequest request;
  request.face = face;
  request.predicate = target.predicate;
  if (session.has("limit")) {
    VARVE_ASSIGN(request.limit, parse_count("limit", session.arguments().value("limit")));
  }
  request.reverse = session.has("reverse");
  request.strict = session.has("strict");
  request.partial = session.has("partial");
  request.threads = target.threads;
  request.max_memory_bytes = target.max_memory_bytes;
  request.options = target.options;
  return request;
}

Result<int> print_rows(Session& session, const Target& target, StoreView& view,
                       ScanRequest request) {
  VARVE_ASSIGN(const std::size_t limit, max_findings(session));
  const output::LineRenderer renderer(view, request.face, render_options(session, target));
  request.mapper = &renderer;
  output::LineSink sink(renderer, session.out());
  FindingPrinter findings(session, target.path, limit);
  const auto summary = view.scan(request, sink, findings);
  // Rows first, then what is said about them: the order in which a person reads a terminal.
  session.out().flush();
  findings.finish();
  if (!summary) {
    return std::unexpected(summary.error());
  }
  return exit_code(summary->verdict);
}

}  // namespace varve::cli
