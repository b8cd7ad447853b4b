// SPDX-License-Identifier: MIT OR Apache-2.0
#include "verbs/export_target.hpp"

#include <map>
#include <numeric>

namespace varve::cli {

namespace {

// A function's own object: registrations run while the program starts, in no order of files.
std::map<std::string_view, ExportTarget>& table() {
  static std::map<std::string_view, ExportTarget> targets;
  return targets;
}

}  // namespace

ExportTargetRegistration::ExportTargetRegistration(const ExportTarget& target) {
  table().emplace(target.name, target);
}

const ExportTarget* find_export_target(std::string_view name) {
  const auto at = table().find(name);
  return at == table().end() ? nullptr : &at->second;
}

std::string export_target_names(std::string_view separator) {
  std::string names;
  for (const auto& [name, target] : table()) {
    names += names.empty() ? "" : separator;
    names += name;
  }
  return names;
}

Result<std::vector<std::size_t>> named_columns(std::string_view option, const std::string& list,
                                               const Schema& schema) {
  std::vector<std::size_t> columns;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    const std::string name = list.substr(at, end - at);
    const int index = schema.find(name);
    if (index < 0) {
      std::string known;
      for (const Field& field : schema.fields) {
        known += (known.empty() ? "" : ", ") + field.name;
      }
      return fail(
          ErrorCode::invalid_argument, "usage",
          "--" + std::string(option) + ": no column \"" + name + "\" (there are " + known + ")");
    }
    columns.push_back(static_cast<std::size_t>(index));
    at = end + 1;
  }
  return columns;
}

Result<std::vector<std::size_t>> export_columns(const Session& session, const Schema& schema) {
  if (session.has("columns")) {
    return named_columns("columns", session.arguments().value("columns"), schema);
  }
  std::vector<std::size_t> columns(schema.fields.size());
  std::iota(columns.begin(), columns.end(), std::size_t{0});
  return columns;
}

}  // namespace varve::cli
