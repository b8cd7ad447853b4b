// SPDX-License-Identifier: MIT OR Apache-2.0
// `varve verify`: checks every byte that a checksum or a rule covers.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "cli/exit_codes.hpp"
#include "cli/open.hpp"
#include "output/report_json.hpp"
#include "verbs/verify_text.hpp"

namespace varve::cli {

namespace {

struct Outcome {
  VerifyReport report;
  double elapsed_s = 0;
};

// Opening fails where not even the parts of a store can be told apart. That is a verdict too.
bool is_verdict(const Error& error) {
  return error.code == ErrorCode::damaged || error.code == ErrorCode::torn ||
         error.code == ErrorCode::unsupported || error.code == ErrorCode::limit;
}

std::string relative_to(const std::string& path, const std::string& store) {
  const std::string prefix = store.ends_with('/') ? store : store + '/';
  if (path == store) {
    return {};
  }
  return path.starts_with(prefix) ? path.substr(prefix.size()) : path;
}

VerifyReport report_of_failed_open(const Error& error, const Target& target,
                                   FindingSink& findings) {
  Finding finding = to_finding(error);
  finding.file = relative_to(error.path, target.path);
  VerifyReport report;
  report.path = target.path;
  report.format = target.format->name();
  report.verdict = finding.verdict;
  findings.add(std::move(finding));
  return report;
}

Result<Outcome> check(Session& session, const Target& target, FindingList& findings) {
  using Clock = std::chrono::steady_clock;
  terminal::Progress progress(session.err(), session.progress_mode(), "verify", target.path);
  const Clock::time_point start = Clock::now();
  Outcome outcome;
  const auto view = open_view(session, target);
  if (view) {
    VerifyRequest request;
    request.quick = session.has("quick");
    request.threads = target.threads;
    request.progress = [&](std::uint64_t done, std::uint64_t total) {
      progress.update(done, total);
    };
    VARVE_ASSIGN(outcome.report, (*view)->verify(request, findings));
  } else if (is_verdict(view.error())) {
    outcome.report = report_of_failed_open(view.error(), target, findings);
  } else {
    return std::unexpected(view.error());
  }
  outcome.elapsed_s = std::max(1e-6, std::chrono::duration<double>(Clock::now() - start).count());
  return outcome;
}

Result<int> verify_store(Session& session, const std::string& path) {
  VARVE_ASSIGN(const std::size_t limit, max_findings(session));
  VARVE_ASSIGN(const Target target, locate_target(session, path));
  FindingList findings(limit);
  VARVE_ASSIGN(const Outcome outcome, check(session, target, findings));
  if (session.json()) {
    session.print_json(output::verify_json(outcome.report, findings, outcome.elapsed_s));
  } else {
    session.out().print(
        verify_text(session, *target.format, outcome.report, findings, outcome.elapsed_s));
  }
  return target.format->verify_exit_code(outcome.report, findings.findings(), target.options)
      .value_or(exit_code(outcome.report.verdict));
}

// --each: the segments of an archive, each as a store of its own.
Result<std::vector<std::string>> segments_of(Session& session, const std::string& path) {
  VARVE_ASSIGN(const Target target, locate_target(session, path));
  VARVE_ASSIGN(const auto view, open_view(session, target));
  FindingList findings(0);
  VerifyRequest request;
  request.quick = true;
  request.threads = target.threads;
  VARVE_ASSIGN(const VerifyReport report, view->verify(request, findings));
  if (report.segments.empty()) {
    return std::vector{path};
  }
  std::vector<std::string> paths;
  for (const SegmentVerdict& segment : report.segments) {
    paths.push_back(target.path + (target.path.ends_with('/') ? "" : "/") + segment.name);
  }
  return paths;
}

int run_verify(Session& session) {
  int code = k_done;
  std::vector<std::string> stores;
  for (const std::string& path : session.arguments().operands) {
    if (!session.has("each")) {
      stores.push_back(path);
      continue;
    }
    auto segments = segments_of(session, path);
    if (segments) {
      stores.insert(stores.end(), segments->begin(), segments->end());
    } else {
      code = combined_exit_code(code, session.report(segments.error(), path));
    }
  }
  bool first = true;
  for (const std::string& path : stores) {
    if (!std::exchange(first, false) && !session.json()) {
      session.out().print("\n");
    }
    const auto verified = verify_store(session, path);
    const int next = verified ? *verified : session.report(verified.error(), path);
    // One store keeps its code, also one of a format's own scheme.
    code = stores.size() == 1 && code == k_done ? next : combined_exit_code(code, next);
    session.out().flush();
  }
  return code;
}

const Registration k_verify({
    .name = "verify",
    .group = Group::look,
    .order = 2,
    .summary = "check every byte that a checksum or a rule covers; name each fault",
    .description =
        "Checks the whole store, goes on behind a fault where the next unit can be found with "
        "certainty, and lists what it found: file, offset, reason, the two values that "
        "disagree.\n\n"
        "The verdict is clean (exit code 0), torn (1: the log ends in an incomplete or "
        "unverifiable "
        "last unit), damaged (2) or unknown (3: this build cannot tell). Nothing in the store is "
        "changed or locked.",
    .operands = {{"STORE", "file or directory of any format", false, true}},
    .examples = {{"verify events.jss", "is it whole? if not, where and why"},
                 {"verify --quick archive/", "headers, footers and tails only"},
                 {"verify --json */ | jq -r '.path + \" \" + .verdict'",
                  "many stores, one line each"}},
    .options = {{"quick", "", "headers, footers and tails only"},
                {"each", "", "one verdict a segment instead of one for the archive"}},
    .shared = k_json_option | k_findings_option | k_open_options | k_progress_option,
    .run = run_verify,
});

}  // namespace

}  // namespace varve::cli
