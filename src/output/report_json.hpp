// SPDX-License-Identifier: MIT OR Apache-2.0
// The JSON documents that describe a store, as CONTRACT sections 1 to 4, 7 and 9 give them. The
// schemas are in docs/json-schema/.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "varve/finding.hpp"
#include "varve/json.hpp"
#include "varve/report.hpp"
#include "varve/store.hpp"

namespace varve::output {

// varve.error/1
Json error_json(const Error& error, int exit_code);

// varve.info/1
Json info_json(const StoreInfo& info);

// One element of `findings`.
Json finding_json(const Finding& finding);

// All elements of `findings`; if the list did not keep all, the last is one `findings_truncated`
// with the totals.
Json findings_json(const FindingList& findings);
// The same of findings that were not cut short.
Json findings_json(std::span<const Finding> findings);

// The finding that stands for those which a full list did not keep.
Finding truncation_finding(const FindingList& findings);

// varve.verify/1; `elapsed_s` above zero.
Json verify_json(const VerifyReport& report, const FindingList& findings, double elapsed_s);

// One element of `rows` in varve.explain/1.
Json explain_row_json(const ExplainRow& row);
std::string_view to_text(ExplainRow::Check check);

// varve.stats/1
Json stats_json(const std::string& path, std::string_view format, const StatsReport& report,
                const FindingList& findings);

// varve.write/1: what a writing verb wrote, or would write.
Json write_json(std::string_view verb, const std::string& path, std::string_view format,
                const WriteReport& report);

}  // namespace varve::output
