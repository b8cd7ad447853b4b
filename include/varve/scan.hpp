// SPDX-License-Identifier: MIT OR Apache-2.0
// What a scan is asked for and what it answers.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "varve/batch.hpp"
#include "varve/finding.hpp"

namespace varve {

// The two faces of a store: all records in order, or what they add up to.
enum class Face : std::uint8_t { log, state };

// One condition of a format's own kind, e.g. {"did", "did:plc:..."}; see Format::filters().
// Terms of one name are alternatives; terms of different names must all hold.
struct FilterTerm {
  std::string name;
  std::string value;
};

struct Predicate {
  std::optional<std::uint64_t> seq_first;  // inclusive
  std::optional<std::uint64_t> seq_last;   // inclusive
  std::optional<std::int64_t> since_us;    // inclusive, microseconds since 1970
  std::optional<std::int64_t> until_us;    // exclusive
  std::vector<FilterTerm> terms;

  bool empty() const { return !seq_first && !seq_last && !since_us && !until_us && terms.empty(); }
};

// Works on a batch on the thread that decoded it, before it is delivered in order. Called from
// several threads at once, twice where a limit cuts the batch: it leaves the columns alone.
class BatchMapper {
 public:
  virtual ~BatchMapper() = default;
  virtual void map(Batch& batch) const = 0;
};

// Takes batches in log order on the thread that called the scan. Returns false to stop the scan
// (a limit, a closed pipe); that is not an error.
class BatchSink {
 public:
  virtual ~BatchSink() = default;
  virtual Result<bool> consume(Batch batch) = 0;
};

struct ScanRequest {
  Face face = Face::log;
  Predicate predicate;
  std::vector<std::string> columns;  // names to fill; empty means all but computed ones
  std::uint64_t limit = std::numeric_limits<std::uint64_t>::max();  // rows to deliver at most
  bool reverse = false;                                             // newest first
  bool strict = false;                                              // stop at the first fault
  bool partial = false;  // state: fold what can be read although the format refuses the log
  unsigned threads = 0;  // 0: all cores
  std::uint64_t max_memory_bytes = std::uint64_t{1} << 30;  // a larger unit is a finding `limit`
  std::map<std::string, std::string> options;  // the format's own, see Format::options()
  const BatchMapper* mapper = nullptr;         // not owned; may be null
};

struct ScanSummary {
  std::uint64_t rows = 0;            // rows delivered
  Verdict verdict = Verdict::clean;  // of what the scan had to read
};

// How records are written as JSON Lines: CONTRACT sections 1 and 5.
enum class PayloadForm : std::uint8_t { json, base64, hex, sha256, none };

struct RenderOptions {
  PayloadForm payload = PayloadForm::json;
  bool int64_as_string = false;
  std::string as;  // jss: "", "v1" or "v2"
};

}  // namespace varve
