// SPDX-License-Identifier: MIT OR Apache-2.0
#include "verbs/export_typed.hpp"

namespace varve::cli {

Result<std::vector<std::string>> typed_columns(const ExportJob& job, std::string_view to) {
  for (const char* option : {"payload", "int64"}) {
    if (job.session.has(option)) {
      return fail(ErrorCode::invalid_argument, "usage",
                  std::string("--") + option + " has no meaning for --to " + std::string(to));
    }
  }
  const Schema& schema = job.view.schema(job.face);
  VARVE_ASSIGN(const auto chosen, export_columns(job.session, schema));
  std::vector<std::string> names;
  for (const std::size_t at : chosen) {
    if (job.session.has("columns") || !schema.fields[at].computed) {
      names.push_back(schema.fields[at].name);
    }
  }
  return names;
}

std::map<std::string, std::string> provenance(const ExportJob& job) {
  return {{"varve.format", std::string(job.target.format->name())},
          {"varve.source", job.target.path},
          {"varve.table", job.face == Face::state ? "state" : "log"},
          {"varve.version", std::string(version())}};
}

}  // namespace varve::cli
