// SPDX-License-Identifier: MIT OR Apache-2.0
// What `varve export --to NAME` can write. A target adds itself to the table with one line in its
// own file: `const ExportTargetRegistration k_csv({"csv", "...", make_csv});`
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "cli/open.hpp"
#include "output/byte_sink.hpp"
#include "varve/scan.hpp"
#include "verbs/export_mark.hpp"

namespace varve::cli {

// One export in progress.
class Exporter {
 public:
  virtual ~Exporter() = default;
  // Resumable targets only, before begin(): where an interrupted export of that identity stands (no
  // rows: nowhere). Errors: invalid_argument if what is left is of another export.
  virtual Result<ExportMark> take_up(const std::string& /*identity*/) { return ExportMark{}; }
  // Likewise, while rows come: makes what was written durable, together with the mark.
  virtual Result<void> keep(const ExportMark& /*mark*/) { return {}; }
  // Called once before the scan: names the columns and the mapper that this target needs, and may
  // write what stands before the rows.
  virtual Result<void> begin(ScanRequest& request) = 0;
  virtual BatchSink& sink() = 0;
  // Called before finish() with what the scan came to.
  virtual void scanned(const ScanSummary& /*summary*/) {}
  // Called once after the last row, unless the scan failed.
  virtual Result<void> finish() { return {}; }
};

class StagedOutput;

// What a target is made from; everything outlives the exporter.
struct ExportJob {
  Session& session;
  const Target& target;
  StoreView& view;
  Face face;
  output::ByteSink& out;
  StagedOutput* file = nullptr;  // the same, if it is a file, for targets that need one
};

struct ExportTarget {
  std::string_view name;  // as in --to
  Result<std::unique_ptr<Exporter>> (*make)(const ExportJob& job);
  bool resumable = false;
};

class ExportTargetRegistration {
 public:
  explicit ExportTargetRegistration(const ExportTarget& target);
};

// The target of that name, or nullptr.
const ExportTarget* find_export_target(std::string_view name);
// The names, sorted, with `separator` between them.
std::string export_target_names(std::string_view separator);

// The indexes of the columns in a list with commas, the value of that option.
Result<std::vector<std::size_t>> named_columns(std::string_view option, const std::string& list,
                                               const Schema& schema);
// The indexes of the columns that --columns names, or of all.
Result<std::vector<std::size_t>> export_columns(const Session& session, const Schema& schema);

}  // namespace varve::cli
