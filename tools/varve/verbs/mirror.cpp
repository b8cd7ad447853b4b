// SPDX-License-Identifier: MIT OR Apache-2.0
// `varve mirror`: a local copy of a remote archive, kept up.
#include "serve/mirror.hpp"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "cli/exit_codes.hpp"
#include "cli/interrupt.hpp"
#include "cli/parse.hpp"
#include "cli/session.hpp"
#include "serve/remote_view.hpp"
#include "terminal/numbers.hpp"
#include "terminal/table.hpp"

namespace varve::cli {

namespace {

using serve::MirroredSegment;
using serve::MirrorReport;
using Fate = MirroredSegment::Fate;

constexpr std::chrono::milliseconds k_nap{100};
constexpr std::uint64_t k_most_watch_seconds = 31'536'000;

std::string note_of(const MirroredSegment& change) {
  switch (change.fate) {
    case Fate::failed:
      return change.error ? change.error->message : std::string();
    case Fate::foreign:
      return "not this mirror's own, and not the server's either; left alone";
    case Fate::kept:
      return "the server no longer has it; --prune removes it";
    default:
      return change.bytes_before == 0
                 ? std::string()
                 : terminal::counted(change.bytes_before, "byte") + " of an earlier run";
  }
}

std::string report_text(const MirrorReport& report, const Session& session) {
  using terminal::Table;
  Table table({Table::Align::left, Table::Align::left, Table::Align::right, Table::Align::left});
  std::size_t failed = 0;
  for (const MirroredSegment& change : report.changes) {
    failed += change.fate == Fate::failed || change.fate == Fate::foreign ? 1 : 0;
    table.add({std::string(to_text(change.fate)), change.name, terminal::grouped(change.bytes),
               terminal::printable(note_of(change))});
    for (const Finding& finding : change.findings) {
      table.add({"", "", terminal::grouped(finding.offset),
                 terminal::printable(finding.code + ": " + finding.message)});
    }
  }
  const char* state = report.interrupted       ? "interrupted"
                      : report.error           ? "ended early"
                      : failed != 0            ? "incomplete"
                      : report.changes.empty() ? "nothing new"
                                               : "up to date";
  return fmt::format("mirror {}: {}: {} on the server, {} there already; fetched {}\n",
                     terminal::printable(report.directory), session.style().bold(state),
                     terminal::counted(report.segments, "segment"),
                     terminal::grouped(report.present),
                     terminal::counted(report.bytes_fetched, "byte")) +
         table.text(session.width(), 2);
}

int code_of(const MirrorReport& report) {
  if (report.interrupted) {
    return 128 + SignalGuard::pending();
  }
  int code = report.error ? exit_code_of(*report.error) : k_done;
  bool foreign = false;
  for (const MirroredSegment& change : report.changes) {
    foreign = foreign || change.fate == Fate::foreign;
    if (change.error) {
      code = combined_exit_code(code, exit_code_of(*change.error));
    }
  }
  return code == k_done && foreign ? k_cannot_create : code;
}

// One round, told. Gives its exit code.
int run_round(Session& session, serve::Mirror& mirror) {
  auto report = mirror.round();
  if (!report) {
    return SignalGuard::pending() != 0 ? 128 + SignalGuard::pending()
                                       : session.report(report.error());
  }
  if (session.json()) {
    session.print_json(report->to_json());
  } else {
    session.out().print(report_text(*report, session));
  }
  session.out().flush();
  if (report->error) {
    session.message(report->error->text());
  }
  return code_of(*report);
}

Result<int> mirror(Session& session) {
  const std::string& url = session.arguments().operands[0];
  const std::string& directory = session.arguments().operands[1];
  if (!serve::is_remote(url)) {
    return fail(ErrorCode::invalid_argument, "usage",
                "the first operand is the archive's address, http://HOST[:PORT]", url);
  }
  if (session.has("once") && session.has("watch")) {
    return fail(ErrorCode::invalid_argument, "usage", "mirror: --once or --watch, not both");
  }
  std::uint64_t watch_seconds = 0;
  if (session.has("watch")) {
    VARVE_ASSIGN(watch_seconds, parse_count("watch", session.arguments().value("watch")));
    if (watch_seconds == 0 || watch_seconds > k_most_watch_seconds) {
      return fail(ErrorCode::invalid_argument, "watch", "--watch: 1 to 31536000 seconds");
    }
  }
  serve::MirrorOptions options;
  options.prune = session.has("prune");
  if (session.has("threads")) {
    VARVE_ASSIGN(const std::uint64_t threads,
                 parse_count("threads", session.arguments().value("threads")));
    options.threads = static_cast<unsigned>(std::min<std::uint64_t>(threads, 1024));
  }
  const SignalGuard guard;
  terminal::Progress progress(session.err(), session.progress_mode(), "mirror", url);
  options.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
  options.interrupted = [] { return SignalGuard::pending() != 0; };
  serve::RemoteOptions remote;
  VARVE_ASSIGN(remote.api_key,
               serve::read_api_key(session.arguments().value(serve::k_api_key_file_option)));
  VARVE_ASSIGN(const auto mirror,
               serve::Mirror::open(session.context().files, session.context().environment, url,
                                   directory, std::move(remote), std::move(options)));
  for (;;) {
    const int code = run_round(session, *mirror);
    if (watch_seconds == 0 || SignalGuard::pending() != 0 || session.out().closed_by_reader()) {
      return code;
    }
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(watch_seconds);
    while (std::chrono::steady_clock::now() < until && SignalGuard::pending() == 0) {
      std::this_thread::sleep_for(k_nap);
    }
    if (SignalGuard::pending() != 0) {
      return 128 + SignalGuard::pending();
    }
  }
}

int run_mirror(Session& session) {
  const auto code = mirror(session);
  return code ? *code : session.report(code.error(), session.arguments().operands.front());
}

const Registration k_mirror({
    .name = "mirror",
    .group = Group::write,
    .order = 7,
    .summary = "keep a local copy of a jss archive that a server holds",
    .description =
        "Downloads the segments that are new or were compacted on the server, in parts and several "
        "at once, verifies each in full, and puts it in its place only if it is clean. Killed or "
        "interrupted it goes on where it was. Nothing is removed: a segment that the server no "
        "longer has is kept, and told, unless --prune.\n\n"
        "DIR/.varve-mirror has what tells the mirror's own files from others, which it never "
        "touches. One mirror at a time works in a directory (exit code 75).",
    .operands = {{"URL", "the archive's address: http://HOST[:PORT][/PATH]"},
                 {"DIR", "the directory of the copy; made if it is missing"}},
    .examples = {{"mirror http://127.0.0.1:8080/ copy", "fetch what is new"},
                 {"mirror --watch 60 http://127.0.0.1:8080/ copy", "again every minute"},
                 {"verify copy", "the copy is an archive like any other"}},
    .options = {{"once", "", "one round (the default)"},
                {"watch", "SECONDS", "another round so many seconds after each"},
                {"prune", "", "remove own segments that the server no longer has"},
                {"threads", "N", "threads that verify (default: all cores)"},
                {"api-key-file", "FILE", "the server's key (else that of VARVE_API_KEY)", 0, false,
                 "", false, true}},
    .shared = k_json_option | k_progress_option,
    .run = run_mirror,
});

}  // namespace

}  // namespace varve::cli
