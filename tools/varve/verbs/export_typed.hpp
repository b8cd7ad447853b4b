// SPDX-License-Identifier: MIT OR Apache-2.0
// What the export targets with typed columns have in common.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "verbs/export_target.hpp"

namespace varve::cli {

// The columns that --columns names, or all but the computed ones. Refuses the options that only say
// how text is rendered.
Result<std::vector<std::string>> typed_columns(const ExportJob& job, std::string_view to);

// Where the rows come from, for the metadata of the output: varve.source and so on.
std::map<std::string, std::string> provenance(const ExportJob& job);

}  // namespace varve::cli
