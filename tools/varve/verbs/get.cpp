// SPDX-License-Identifier: MIT OR Apache-2.0
// `varve get`: one thing of a store.
#include <fmt/format.h>

#include "cli/exit_codes.hpp"
#include "cli/open.hpp"
#include "terminal/numbers.hpp"
#include "verbs/output_file.hpp"
#include "verbs/scan_verb.hpp"

namespace varve::cli {

namespace {

// With --json the document says what it is, its own members behind.
Json with_schema(const Json& document) {
  constexpr std::string_view k_schema = "{\"schema\":\"varve.get/1\"";
  if (const std::string* raw = document.as_raw(); raw != nullptr && raw->starts_with('{')) {
    return Json::raw(std::string(k_schema) + (*raw == "{}" ? "" : ",") + raw->substr(1));
  }
  Json json = Json::object();
  json.set("schema", "varve.get/1");
  if (const Json::Object* members = document.as_object()) {
    for (const auto& [key, value] : *members) {
      json.set(key, value);
    }
  } else {
    json.set("value", document);
  }
  return json;
}

int write_result(Session& session, const GetResult& result, const std::string& file) {
  const std::string bytes =
      result.raw ? *result.raw : result.document.text(session.int64_as_string()) + '\n';
  const auto written = write_output_file(session.context().files, session.context().environment,
                                         file, bytes, session.has("force"));
  if (!written) {
    session.message(written.error().error.text());
    return written.error().exit_code;
  }
  session.message(fmt::format("wrote {} to {}", terminal::counted(bytes.size(), "byte"), file));
  return k_done;
}

Result<int> get(Session& session, const std::string& path, const std::string& key) {
  VARVE_ASSIGN(const Target target, locate_target(session, path));
  if (key.empty() && target.options.empty()) {
    return fail(ErrorCode::invalid_argument, "usage", "get: KEY is missing");
  }
  VARVE_ASSIGN(const auto view, open_view(session, target));
  VARVE_ASSIGN(const std::size_t limit, max_findings(session));
  FindingPrinter findings(session, target.path, limit);
  const auto result = view->get(key, render_options(session, target), findings);
  findings.finish();
  if (!result) {
    return std::unexpected(result.error());
  }
  int code = findings.errors() == 0 ? k_done : exit_code(Verdict::damaged);
  if (session.has("output")) {
    const int written = write_result(session, *result, session.arguments().value("output"));
    return written == k_done ? code : written;
  }
  session.print_json(session.json() ? with_schema(result->document) : result->document);
  return code;
}

int run_get(Session& session) {
  const std::string& path = session.arguments().operands[0];
  const auto& operands = session.arguments().operands;
  const auto code = get(session, path, operands.size() > 1 ? operands[1] : std::string());
  return code ? *code : session.report(code.error(), path);
}

const Registration k_get({
    .name = "get",
    .group = Group::read,
    .order = 3,
    .summary = "print one record, job, allocation or document",
    .description =
        "Looks one thing up by its key and prints it as JSON. -o writes its bytes to a new file, "
        "where the thing has bytes of its own, else the JSON.",
    .operands = {{"STORE", "file or directory of any format"},
                 {"KEY",
                  "a sequence number, an id, an at:// URI, or @OFFSET for whatever lies at "
                  "that byte; not needed where an option of the format says what to get",
                  true}},
    .examples = {{"get events.jss 4711", "the record with that sequence number"},
                 {"get events.jss @8192", "the record whose bytes lie there"},
                 {"get heap.kladde 12 -o thing.bin", "the bytes of an allocation"},
                 {"get --root heap.kladde", "the root value by its type descriptor"}},
    .options = {{"output", "FILE", "write the bytes to this new file", 'o', false, "", false, true},
                {"force", "", "replace FILE if it exists"}},
    .shared = k_json_option | k_payload_option | k_findings_option | k_open_options,
    .run = run_get,
});

}  // namespace

}  // namespace varve::cli
