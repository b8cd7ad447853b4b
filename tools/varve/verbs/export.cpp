// SPDX-License-Identifier: MIT OR Apache-2.0
// `varve export`: the log or the state in a form that other programs read.
#include "cli/exit_codes.hpp"
#include "verbs/export_run.hpp"
#include "verbs/scan_verb.hpp"

namespace varve::cli {

namespace {

Result<int> export_store(Session& session, const std::string& path) {
  const ExportTarget* to = find_export_target(session.arguments().value("to"));
  if (to == nullptr) {
    return fail(ErrorCode::invalid_argument, "usage",
                "export: --to says what to write: " + export_target_names(", "));
  }
  const Face face = session.arguments().value("face") == "state" ? Face::state : Face::log;
  VARVE_ASSIGN(const Target target, locate_target(session, path));
  VARVE_ASSIGN(const ScanRequest request, scan_request(session, target, face));
  VARVE_ASSIGN(const auto view, open_view(session, target));
  if (session.has("plan")) {
    VARVE_ASSIGN(const Json plan, view->plan(request));
    session.print_json(plan);
    return k_done;
  }
  return run_export({session, target, *view, face, session.out()}, *to, request);
}

int run_verb(Session& session) {
  const std::string& path = session.arguments().operands.front();
  const auto code = export_store(session, path);
  return code ? *code : session.report(code.error(), path);
}

const Registration k_export({
    .name = "export",
    .group = Group::read,
    .order = 8,
    .summary = "write the log or the state for other programs: JSON Lines, CSV, SQLite, Arrow, "
               "Parquet, ClickHouse",
    .description =
        "Writes the rows that the filters let through as `jsonl` (the lines of `cat` and `state`), "
        "as `csv` (RFC 4180, one column a field), as a `sqlite` database, as `arrow` (Arrow's IPC "
        "stream) or as `parquet` "
        "(by DuckDB's library, which scripts/with-duckdb installs), or sends them to a "
        "table of ClickHouse; see docs/export.md. With -o "
        "the file appears when all of it is durable, or not at all; "
        "without it the rows go to stdout.\n\n"
        "Damage does not stop it: what can be proven is written, each gap is named on stderr, and "
        "the exit code is 2.",
    .operands = {{"STORE", "file or directory of any format"}},
    .examples =
        {{"export events.jss --to csv --columns seq,did,collection -o events.csv",
          "three columns of every record"},
         {"export events.jss --to sqlite --resume -o events.db",
          "a database; the same again goes on after Ctrl-C"},
         {"export events.jss --to parquet -o events.parquet", "every record, typed"},
         {"export events.jss --to clickhouse --url http://127.0.0.1:8123 --table events --create",
          "into a table; sending again is harmless"},
         {"export jobs/ --to csv --face state", "one line a job"}},
    .options = {{"to", "FORM", "what to write", 0, false,
                 "arrow clickhouse csv jsonl parquet sqlite"},
                {"output", "FILE", "the new file; without it stdout", 'o', false, "", false, true},
                {"force", "", "replace an existing file"},
                {"resume", "",
                 "csv, jsonl, sqlite: keep what is written when interrupted, and go on from there"},
                {"face", "NAME", "the log (default) or what it adds up to", 0, false, "log state"},
                {"columns", "A,B...", "all but jsonl: these columns only, in this order"},
                {"row-group", "N", "parquet: rows a row group has, at least (default 122880)"},
                {"url", "URL", "clickhouse: http://HOST:PORT of the server"},
                {"table", "TABLE", "clickhouse: the table, DATABASE.TABLE or TABLE"},
                {"create", "", "clickhouse: create the table unless it is there"},
                {"key", "A,B...", "clickhouse: the columns that tell rows apart (default seq)"},
                {"batch", "N", "clickhouse: sequence numbers a request has (default 100000)"},
                {"partial", "", "state: fold what can be read although the format refuses the log"},
                {"strict", "", "stop at the first fault"},
                {"plan", "", "print what would be read, and why, instead"}},
    .shared = k_json_option | k_log_options | k_payload_option | k_findings_option |
              k_open_options | k_progress_option,
    .run = run_verb,
});

}  // namespace

}  // namespace varve::cli
