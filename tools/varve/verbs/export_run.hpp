// SPDX-License-Identifier: MIT OR Apache-2.0
// One export from its first row to its last.
#pragma once

#include "verbs/export_target.hpp"

namespace varve::cli {

// To the file that -o names, or else to the job's `out`; gives the exit code.
Result<int> run_export(const ExportJob& job, const ExportTarget& to, const ScanRequest& request);

}  // namespace varve::cli
