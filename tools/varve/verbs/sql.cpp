// SPDX-License-Identifier: MIT OR Apache-2.0
// `varve sql`: a question to a store in SQL.
#include "cli/exit_codes.hpp"
#include "verbs/input_text.hpp"
#include "verbs/scan_verb.hpp"
#include "verbs/sql_output.hpp"

namespace varve::cli {

namespace {

Result<std::string> statement_of(const Session& session) {
  const auto& operands = session.arguments().operands;
  if (operands.size() > 1 && operands[1] != "-") {
    return operands[1];
  }
  return read_input(session.context().input, "the statement");
}

Result<std::unique_ptr<query::StoreTables>> open_tables(const Session& session,
                                                        const Target& target) {
  query::StoreSource source;
  source.format = target.format;
  source.files = &session.context().files;
  source.path = target.path;
  source.open.threads = target.threads;
  source.open.max_memory_bytes = target.max_memory_bytes;
  source.open.options = target.options;
  VARVE_ASSIGN(source.request, scan_request(session, target, Face::log));
  return query::StoreTables::open(std::move(source));
}

Result<int> run_statement(Session& session, const Target& target, query::StoreTables& tables,
                          std::string_view statement) {
  VARVE_ASSIGN(const std::size_t limit, max_findings(session));
  const auto output = make_sql_output(session);
  FindingPrinter findings(session, target.path, limit);
  const auto verdict = query::run_sql(tables, statement, findings, *output);
  // What there is of rows stands before what is said about them.
  const auto finished = output->finish();
  session.out().flush();
  findings.finish();
  VARVE_TRY(verdict);
  VARVE_TRY(finished);
  return exit_code(*verdict);
}

Result<int> sql(Session& session, const std::string& path) {
  if (session.json() && session.has("csv")) {
    return fail(ErrorCode::invalid_argument, "usage", "sql: --json or --csv, not both");
  }
  VARVE_ASSIGN(const Target target, locate_target(session, path));
  VARVE_ASSIGN(const std::string statement, statement_of(session));
  VARVE_ASSIGN(const auto tables, open_tables(session, target));
  if (session.has("plan")) {
    VARVE_ASSIGN(const Json plan, query::plan_sql(*tables, statement));
    session.print_json(plan);
    return k_done;
  }
  return run_statement(session, target, *tables, statement);
}

int run_sql(Session& session) {
  const std::string& path = session.arguments().operands.front();
  const auto code = sql(session, path);
  return code ? *code : session.report(code.error(), path);
}

const Registration k_sql({
    .name = "sql",
    .group = Group::read,
    .order = 7,
    .summary = "ask a store in SQL",
    .description =
        "Runs one SQL statement of SQLite's dialect over the tables `log` (the columns of "
        "`export`, "
        "and `line`: the row as `cat` prints it), `state`, `units`, `segments` and `findings`; jss "
        "stores have a view `records` too. Comparisons of seq, times, ids, DIDs, collections, "
        "kinds, types and jobs are pushed down to headers, indexes and blooms; columns that the "
        "statement does not name are not decoded (docs/sql.md).\n\n"
        "Damage does not stop it: what can be proven takes part, each gap is named on stderr, and "
        "the exit code is 2.",
    .operands = {{"STORE", "file or directory of any format"},
                 {"QUERY", "the statement; without it, or for `-`, stdin", true}},
    .examples =
        {{"sql events.jss 'select collection, count(*) from log group by 1 order by 2 desc'",
          "how many records of each kind"},
         {"sql events.jss \"select record ->> 'text' from log where did = 'did:plc:x'\"",
          "a value of the JSON payload"},
         {"sql jobs/ --csv 'select state, count(*) from state group by 1'",
          "the jobs by their state"},
         {"sql --plan events.jss 'select * from log where seq > 1000000'", "what would be read"}},
    .options = {{"csv", "", "print CSV instead of a table"},
                {"partial", "", "state: fold what can be read although the format refuses the log"},
                {"strict", "", "stop at the first fault"},
                {"plan", "", "print what would be read, and why, instead"}},
    .shared = k_json_option | k_findings_option | k_open_options,
    .run = run_sql,
});

}  // namespace

}  // namespace varve::cli
