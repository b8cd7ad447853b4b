// SPDX-License-Identifier: MIT OR Apache-2.0
#include "verbs/export_run.hpp"

#include <fmt/format.h>

#include "cli/exit_codes.hpp"
#include "cli/interrupt.hpp"
#include "terminal/numbers.hpp"
#include "verbs/export_resume.hpp"
#include "verbs/scan_verb.hpp"
#include "verbs/staged_output.hpp"

namespace varve::cli {

namespace {

struct Outcome {
  int exit_code = k_done;
  bool whole = true;  // false: interrupted, and kept for another run
};

// Options besides those of the request that change what is written.
std::vector<std::string> form_of(const Session& session) {
  std::vector<std::string> form;
  for (const char* option : {"columns", "payload", "int64"}) {
    form.push_back(session.has(option) ? "=" + session.arguments().value(option) : "");
  }
  return form;
}

// Pushes the rows through the target.
Result<Outcome> push_rows(const ExportJob& job, const ExportTarget& to, ScanRequest request) {
  const Session& session = job.session;
  VARVE_ASSIGN(const std::size_t limit, max_findings(session));
  terminal::Progress progress(job.session.err(), session.progress_mode(), "export",
                              job.target.path);
  ResumingSink::Plan plan;
  plan.progress = &progress;
  VARVE_ASSIGN(const auto exporter, to.make(job));
  if (session.has("resume")) {
    VARVE_ASSIGN(plan.from, exporter->take_up(export_identity(to.name, request, form_of(session))));
    plan.keep = [&](const ExportMark& mark) { return exporter->keep(mark); };
  }
  VARVE_TRY(exporter->begin(request));
  ResumingSink sink(exporter->sink(), request, std::move(plan));
  FindingPrinter findings(job.session, job.target.path, limit);
  const auto summary = job.view.scan(request, sink, findings);
  progress.finish();
  findings.finish();
  VARVE_TRY(summary);
  VARVE_TRY(sink.end());
  if (const int signal = sink.interrupted(); signal != 0) {
    job.session.message(
        fmt::format("interrupted after {}; the same with --resume goes on from there",
                    terminal::counted(sink.rows(), "row")));
    return Outcome{128 + signal, false};
  }
  exporter->scanned(*summary);
  VARVE_TRY(exporter->finish());
  return Outcome{exit_code(summary->verdict), true};
}

}  // namespace

Result<int> run_export(const ExportJob& job, const ExportTarget& to, const ScanRequest& request) {
  const Session& session = job.session;
  const std::string path = session.arguments().value("output");
  const bool resume = session.has("resume");
  if (resume && (path.empty() || !to.resumable)) {
    return fail(ErrorCode::invalid_argument, "usage",
                path.empty() ? "--resume needs a file: -o FILE"
                             : "--resume has no meaning for --to " + std::string(to.name));
  }
  if (path.empty()) {
    VARVE_ASSIGN(const Outcome outcome, push_rows(job, to, request));
    return outcome.exit_code;
  }
  std::optional<SignalGuard> guard;
  if (resume) {
    guard.emplace();
  }
  const Context& context = session.context();
  auto file = (resume ? StagedOutput::take_up : StagedOutput::create)(
      context.files, context.environment, path, session.has("force"));
  if (!file) {
    job.session.report(file.error().error);
    return file.error().exit_code;
  }
  VARVE_ASSIGN(
      const Outcome outcome,
      push_rows({job.session, job.target, job.view, job.face, **file, file->get()}, to, request));
  if (outcome.whole) {
    VARVE_TRY((*file)->publish());
  }
  return outcome.exit_code;
}

}  // namespace varve::cli
