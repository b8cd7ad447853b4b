// SPDX-License-Identifier: MIT OR Apache-2.0
// `varve verify`: checks every byte that a checksum or a rule covers.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "cli/exit_codes.hpp"
#include "cli/open.hpp"
#include "output/report_json.hpp"
#include "serve/remote_http.hpp"
#include "terminal/numbers.hpp"
#include "varve/verify_receipt.hpp"
#include "verbs/output_file.hpp"
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

constexpr std::uint64_t k_most_receipt_bytes = std::uint64_t{256} << 20;

Result<VerifyReceipt> read_receipt(Session& session, const std::string& path) {
  VARVE_ASSIGN(const auto file, session.context().files.open_file(path, io::OpenMode::read));
  VARVE_ASSIGN(const io::FileIdentity identity, file->identity());
  if (identity.size_bytes > k_most_receipt_bytes) {
    return fail(ErrorCode::invalid_argument, "receipt", "too large for a receipt", path);
  }
  std::string text(static_cast<std::size_t>(identity.size_bytes), '\0');
  VARVE_ASSIGN(const std::size_t got, file->read_at(std::as_writable_bytes(std::span(text)), 0));
  text.resize(got);
  auto receipt = parse_verify_receipt(text);
  if (!receipt) {
    Error error = std::move(receipt).error();
    error.path = path;
    return std::unexpected(std::move(error));
  }
  return receipt;
}

Result<Outcome> check(Session& session, const Target& target, const VerifyReceipt* since,
                      FindingList& findings) {
  using Clock = std::chrono::steady_clock;
  terminal::Progress progress(session.err(), session.progress_mode(), "verify", target.path);
  const Clock::time_point start = Clock::now();
  Outcome outcome;
  const auto view = open_view(session, target);
  if (view) {
    VerifyRequest request;
    request.quick = session.has("quick");
    request.threads = target.threads;
    request.since = since;
    request.make_receipt = session.has("receipt");
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

// A receipt is never put into the store that it is of.
Result<void> check_receipt_place(Session& session, const Target& target, const std::string& path) {
  io::FileSystem& files = session.context().files;
  VARVE_ASSIGN(const io::FileIdentity store, files.identity_of(target.path));
  std::string above = io::split_path(path).parent;
  for (int depth = 0; depth < 16; ++depth) {
    const auto directory = files.identity_of(above);
    if (!directory) {
      return {};  // writing it will say what is wrong
    }
    if (directory->same_object(store)) {
      return fail(ErrorCode::invalid_argument, "receipt",
                  "the receipt would lie in the store: reading verbs write nothing there", path);
    }
    above += "/..";
  }
  return {};
}

// Writes the receipt; the one that the run was given may be replaced by its successor. Gives an
// exit code, 0 if all went well.
int write_receipt(Session& session, const VerifyReport& report) {
  const std::string& path = session.arguments().value("receipt");
  VerifyReceipt receipt;
  if (report.receipt) {
    receipt = *report.receipt;
  } else {
    receipt.format = report.format;  // nothing could be looked at, so nothing is proven
    receipt.version = report.version;
    receipt.verdict = report.verdict;
  }
  std::string text;
  to_json(receipt).write_pretty(text);
  text += '\n';
  const bool replace = session.has("force") || session.arguments().value("since-receipt") == path;
  const auto written = write_output_file(session.context().files, session.context().environment,
                                         path, text, replace);
  if (!written) {
    session.message(written.error().error.text());
    return written.error().exit_code;
  }
  session.message(fmt::format("wrote the receipt {}: {}", path,
                              terminal::counted(receipt.parts.size(), "part")));
  return k_done;
}

Result<int> verify_store(Session& session, const std::string& path) {
  VARVE_ASSIGN(const std::size_t limit, max_findings(session));
  VARVE_ASSIGN(const Target target, locate_target(session, path));
  std::optional<VerifyReceipt> since;
  if (session.has("since-receipt")) {
    VARVE_ASSIGN(since, read_receipt(session, session.arguments().value("since-receipt")));
  }
  if (serve::is_remote(path) && (session.has("receipt") || session.has("since-receipt"))) {
    return fail(
        ErrorCode::invalid_argument, "receipt",
        "there are no receipts of remote archives: nothing tells whether a file was touched", path);
  }
  if (session.has("receipt")) {
    VARVE_TRY(check_receipt_place(session, target, session.arguments().value("receipt")));
  }
  FindingList findings(limit);
  VARVE_ASSIGN(const Outcome outcome, check(session, target, since ? &*since : nullptr, findings));
  if (session.json()) {
    session.print_json(output::verify_json(outcome.report, findings, outcome.elapsed_s));
  } else {
    session.out().print(
        verify_text(session, *target.format, outcome.report, findings, outcome.elapsed_s));
  }
  if (session.has("receipt")) {
    if (const int failed = write_receipt(session, outcome.report); failed != k_done) {
      return failed;
    }
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

// Receipts are of one store and of a whole check.
std::optional<Error> receipt_misuse(const Session& session) {
  if (!session.has("receipt") && !session.has("since-receipt")) {
    return std::nullopt;
  }
  if (session.arguments().operands.size() != 1 || session.has("each")) {
    return fail(ErrorCode::invalid_argument, "receipt", "a receipt is of one store").error();
  }
  if (session.has("quick")) {
    return fail(ErrorCode::invalid_argument, "receipt",
                "--quick proves no records: it neither makes nor takes a receipt")
        .error();
  }
  return std::nullopt;
}

int run_verify(Session& session) {
  if (const auto misuse = receipt_misuse(session)) {
    return session.report(*misuse);
  }
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
        "changed or locked.\n\n"
        "A large store need not be read whole every time: --receipt notes what was proven, and "
        "--since-receipt leaves out what is unchanged since by identity, times, and the first and "
        "last bytes of what was proven. What rots on the medium in bytes that are not read is not "
        "seen: run without a receipt now and then.",
    .operands = {{"STORE", "file or directory of any format", false, true}},
    .examples = {{"verify events.jss", "is it whole? if not, where and why"},
                 {"verify --quick archive/", "headers, footers and tails only"},
                 {"verify --since-receipt r.json --receipt r.json archive/",
                  "only what is new since the last run, which left r.json"},
                 {"verify --json */ | jq -r '.path + \" \" + .verdict'",
                  "many stores, one line each"}},
    .options = {{"quick", "", "headers, footers and tails only"},
                {"each", "", "one verdict a segment instead of one for the archive"},
                {"receipt", "FILE", "write what was proven, for a later run", 0, false, "", false,
                 true},
                {"since-receipt", "FILE",
                 "do not read again what this receipt proves and is unchanged", 0, false, "", false,
                 true},
                {"force", "", "let the receipt replace a file"}},
    .shared = k_json_option | k_findings_option | k_open_options | k_progress_option,
    .run = run_verify,
});

}  // namespace

}  // namespace varve::cli
