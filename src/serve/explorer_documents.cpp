// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/explorer_documents.hpp"

#include <algorithm>
#include <utility>

#include "output/explain_store.hpp"
#include "output/report_json.hpp"
#include "serve/parameters.hpp"
#include "serve/record_pages.hpp"

namespace varve::serve {

namespace {

constexpr std::size_t k_longest_name = 4096;
constexpr std::size_t k_most_explain_rows = 2'000;
constexpr std::size_t k_most_findings = 200;

// What a page needs to know to show a value: the rest are numbers and texts.
const char* type_name(ColumnType type) {
  switch (type) {
    case ColumnType::timestamp_us:
      return "timestamp_us";
    case ColumnType::text:
      return "text";
    case ColumnType::bytes:
      return "bytes";
    case ColumnType::boolean:
      return "boolean";
    case ColumnType::uint8:
    case ColumnType::uint16:
    case ColumnType::uint32:
    case ColumnType::uint64:
    case ColumnType::int64:
      return "integer";
  }
  return "text";
}

Json fields_json(const Schema& schema) {
  Json list = Json::array();
  for (const Field& field : schema.fields) {
    list.push(Json::object().set("name", field.name).set("type", type_name(field.type)));
  }
  return list;
}

// Rows up to a number; what lies behind it is only counted by a flag.
class RowList final : public ExplainSink {
 public:
  bool add(ExplainRow row) override {
    if (count_ == k_most_explain_rows) {
      cut_ = true;
      return false;
    }
    ++count_;
    rows_.push(output::explain_row_json(row));
    return true;
  }
  Json take() { return std::move(rows_); }
  bool cut() const { return cut_; }

 private:
  Json rows_ = Json::array();
  std::size_t count_ = 0;
  bool cut_ = false;
};

Result<Json> explain_document(const ExploredStore& store, io::FileSystem& files,
                              const Lookup& lookup) {
  const output::ExplainTarget target{&files, &store.format(), store.path(), {}};
  RowList rows;
  FindingList findings(k_most_findings);
  output::StoreExplainer explainer(target, rows, findings);
  VARVE_ASSIGN(const Verdict verdict, explainer.run({lookup.file, lookup.offset}));
  Json list = rows.take();
  return Json::object()
      .set("schema", "varve.explain/1")
      .set("path", store.path())
      .set("format", store.format().name())
      .set("rows", std::move(list))
      .set("rows_cut", rows.cut())
      .set("verdict", to_text(verdict))
      .set("findings", output::findings_json(findings));
}

Result<Json> record_document(StoreView& view, const Lookup& lookup) {
  FindingList findings(k_most_findings);
  RenderOptions options;
  options.int64_as_string = true;
  VARVE_ASSIGN(GetResult result, view.get(lookup.record, options, findings));
  Json json = Json::object();
  json.set("schema", "varve.record/1")
      .set("key", lookup.record)
      .set("document", std::move(result.document));
  if (result.raw) {
    json.set("raw_bytes", std::uint64_t{result.raw->size()});
  }
  return json.set("findings", output::findings_json(findings));
}

}  // namespace

Json check_json(const ExploredStore::CheckState& state) {
  Json json = Json::object();
  json.set("running", state.progress.running)
      .set("changed", state.changed)
      .set("needs_asking", state.needs_asking);
  if (state.progress.running) {
    json.set("phase", state.progress.phase)
        .set("done_bytes", state.progress.done_bytes)
        .set("total_bytes", state.progress.total_bytes);
  }
  if (state.result == nullptr) {
    return json.set("report", Json());
  }
  const CheckResult& result = *state.result;
  // Findings have a call of their own.
  FindingList none(0);
  json.set("report", output::verify_json(result.report, none, result.elapsed_s))
      .set("errors", result.findings.errors())
      .set("warnings", result.findings.warnings())
      .set("notes", result.findings.notes());
  return json.set(
      "error", result.error ? output::error_json(*result.error, exit_code(*result.error)) : Json());
}

Json info_document(const ExploredStore& store, io::FileSystem& files) {
  const Format& format = store.format();
  Json json = Json::object();
  json.set("id", store.id())
      .set("path", store.path())
      .set("format", format.name())
      .set("summary", format.summary())
      .set("has_seq", format.has_seq())
      .set("has_time", format.has_time())
      .set("key_help", format.key_help())
      .set("filters", Json::object()
                          .set("log", filters_json(format, Face::log))
                          .set("state", filters_json(format, Face::state)));
  const auto view = store.open(files);
  const auto info = view ? (*view)->info() : Result<StoreInfo>(std::unexpected(view.error()));
  if (view) {
    json.set("columns", Json::object()
                            .set("log", fields_json((*view)->schema(Face::log)))
                            .set("state", fields_json((*view)->schema(Face::state))));
  }
  json.set("info", info ? output::info_json(*info) : Json());
  return json.set("error",
                  info ? Json() : output::error_json(info.error(), exit_code(info.error())));
}

std::string Lookup::key() const {
  return what + '\n' + (offset ? std::to_string(*offset) : "-") + '\n' + file + '\n' + record;
}

Result<Lookup> parse_lookup(std::string_view what, const HttpRequest& request) {
  Lookup lookup;
  lookup.what = what;
  if (what == "record") {
    VARVE_ASSIGN(lookup.record, text_parameter(request, "key", k_longest_name));
    if (lookup.record.empty()) {
      return bad_parameter("key", "missing");
    }
  }
  if (what == "explain") {
    VARVE_ASSIGN(lookup.file, text_parameter(request, "file", k_longest_name));
    VARVE_ASSIGN(lookup.offset, unsigned_parameter(request, "offset"));
    if (!lookup.offset) {
      return bad_parameter("offset", "missing");
    }
  }
  return lookup;
}

Result<Json> lookup_document(const ExploredStore& store, io::FileSystem& files,
                             const Lookup& lookup) {
  if (lookup.what == "explain") {
    return explain_document(store, files, lookup);
  }
  VARVE_ASSIGN(const auto view, store.open(files));
  if (lookup.what == "record") {
    return record_document(*view, lookup);
  }
  FindingList findings(k_most_findings);
  VARVE_ASSIGN(const StatsReport report, view->stats(findings));
  return output::stats_json(store.path(), store.format().name(), report, findings);
}

}  // namespace varve::serve
