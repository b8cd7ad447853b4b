// SPDX-License-Identifier: MIT OR Apache-2.0
// What is drawn from the kept check: the map and the findings. Only memory is read.
#include <algorithm>
#include <utility>

#include "output/report_json.hpp"
#include "serve/explorer_documents.hpp"
#include "serve/parameters.hpp"

namespace varve::serve {

namespace {

using output::DrawnStretch;
using output::UnitIndex;

constexpr std::size_t k_longest_name = 4096;
constexpr std::uint64_t k_most_units = 4'000;
constexpr std::size_t k_files_a_page = 200;
constexpr std::size_t k_stretches_of_all = 12'000;
constexpr std::uint64_t k_most_findings = 500;

Result<std::uint64_t> bounded(const HttpRequest& request, const std::string& name,
                              std::uint64_t otherwise, std::uint64_t most) {
  VARVE_ASSIGN(const auto value, unsigned_parameter(request, name));
  if (value && (*value == 0 || *value > most)) {
    return bad_parameter(name, "from 1 to " + std::to_string(most));
  }
  return value.value_or(otherwise);
}

Result<std::uint64_t> place(const HttpRequest& request, const std::string& name,
                            std::uint64_t otherwise) {
  VARVE_ASSIGN(const auto value, unsigned_parameter(request, name));
  return value.value_or(otherwise);
}

// [offset, length, units, kind, state, mixed]: a picture has thousands of them.
Json stretches_json(const std::vector<DrawnStretch>& stretches) {
  Json list = Json::array();
  for (const DrawnStretch& stretch : stretches) {
    list.push(
        Json(Json::Array{stretch.offset, stretch.length, stretch.units, std::uint32_t{stretch.kind},
                         output::to_text(stretch.state), stretch.mixed}));
  }
  return list;
}

Json file_json(const UnitIndex::File& file) {
  return Json::object()
      .set("name", file.name)
      .set("bytes", file.bytes)
      .set("units", file.unit_count)
      .set("state", output::to_text(file.worst));
}

Result<Json> all_files(const UnitIndex& index, const HttpRequest& request, Json json) {
  VARVE_ASSIGN(const std::uint64_t from, place(request, "files_from", 0));
  const auto& files = index.files();
  const std::size_t begin = static_cast<std::size_t>(std::min<std::uint64_t>(from, files.size()));
  const std::size_t end = std::min(files.size(), begin + k_files_a_page);
  const std::size_t most =
      std::clamp<std::size_t>(k_stretches_of_all / std::max<std::size_t>(1, end - begin), 40, 600);
  Json list = Json::array();
  for (std::size_t i = begin; i < end; ++i) {
    list.push(file_json(files[i]).set(
        "stretches", stretches_json(UnitIndex::draw(files[i], 0, files[i].bytes, most))));
  }
  return json.set("file_count", std::uint64_t{files.size()})
      .set("files_from", std::uint64_t{begin})
      .set("files", std::move(list));
}

// Where the unit of that kind and number begins: rows name blocks by their number.
Result<Json> one_place(const UnitIndex& index, const UnitIndex::File& file,
                       const HttpRequest& request, Json json) {
  VARVE_ASSIGN(const std::string kind, text_parameter(request, "kind", k_longest_name));
  VARVE_ASSIGN(const std::uint64_t number, place(request, "number", 0));
  const auto found = std::ranges::find(index.kinds(), kind);
  if (found == index.kinds().end()) {
    return bad_parameter("kind", "the map has no units of that kind");
  }
  const auto offset =
      UnitIndex::place_of(file, static_cast<std::uint16_t>(found - index.kinds().begin()), number);
  return json.set("place", offset ? Json(*offset) : Json());
}

bool fits(const Finding& finding, const std::string& severity, const std::string* file,
          std::uint64_t from, std::uint64_t to) {
  return (severity == "all" || severity == to_text(finding.severity)) &&
         (file == nullptr || (finding.file == *file && finding.offset < to &&
                              finding.offset + std::max<std::uint64_t>(finding.length, 1) > from));
}

}  // namespace

Result<Json> map_document(const CheckResult& result, const HttpRequest& request) {
  Json json = Json::object();
  Json kinds = Json::array();
  for (const std::string& kind : result.units.kinds()) {
    kinds.push(kind);
  }
  json.set("schema", "varve.picture/1").set("kinds", std::move(kinds));
  if (request.parameter("file") == nullptr) {
    return all_files(result.units, request, std::move(json));
  }
  VARVE_ASSIGN(const std::string name, text_parameter(request, "file", k_longest_name));
  const UnitIndex::File* file = result.units.find(name);
  if (file == nullptr) {
    return bad_parameter("file", "the map has no file of that name");
  }
  if (request.parameter("kind") != nullptr) {
    return one_place(result.units, *file, request, std::move(json));
  }
  VARVE_ASSIGN(const std::uint64_t from, place(request, "from", 0));
  VARVE_ASSIGN(const std::uint64_t to, place(request, "to", file->bytes));
  VARVE_ASSIGN(const std::uint64_t most, bounded(request, "units", 1'000, k_most_units));
  if (from > to || from > file->bytes) {
    return bad_parameter("from", "not a place of the file");
  }
  return json.set("file", file_json(*file))
      .set("from", from)
      .set("to", std::min(to, file->bytes))
      .set("stretches",
           stretches_json(UnitIndex::draw(*file, from, to, static_cast<std::size_t>(most))));
}

Result<Json> findings_document(const CheckResult& result, const HttpRequest& request) {
  VARVE_ASSIGN(const std::string severity,
               choice_parameter(request, "severity", "all error warning note"));
  VARVE_ASSIGN(const std::string name, text_parameter(request, "file", k_longest_name));
  const std::string* file = request.parameter("file") == nullptr ? nullptr : &name;
  VARVE_ASSIGN(const std::uint64_t from, place(request, "from", 0));
  VARVE_ASSIGN(const std::uint64_t to, place(request, "to", UINT64_MAX));
  VARVE_ASSIGN(const std::uint64_t start, place(request, "start", 0));
  VARVE_ASSIGN(const std::uint64_t limit, bounded(request, "limit", 100, k_most_findings));
  Json list = Json::array();
  std::uint64_t found = 0;
  for (const Finding& finding : result.findings.findings()) {
    if (!fits(finding, severity, file, from, to)) {
      continue;
    }
    if (found >= start && found - start < limit) {
      list.push(output::finding_json(finding));
    }
    ++found;
  }
  return Json::object()
      .set("schema", "varve.findings/1")
      .set("start", start)
      .set("matching", found)
      .set("kept", std::uint64_t{result.findings.findings().size()})
      .set("total", result.findings.total())
      .set("findings", std::move(list));
}

}  // namespace varve::serve
