// SPDX-License-Identifier: MIT OR Apache-2.0
// What Format::salvage() is asked for, and its outcome: CONTRACT section 8, schema
// varve.salvage/1.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "varve/file_system.hpp"
#include "varve/finding.hpp"
#include "varve/json.hpp"

namespace varve {

// What becomes of a stretch of the source.
enum class Fate : std::uint8_t {
  kept,       // its records are in the new store
  rebuilt,    // header, footer or padding: no record in it, the new store has its own
  set_aside,  // whole, but the new store cannot hold it: it goes to lost+found
  lost,       // not understood: its raw bytes go to lost+found
};
std::string_view to_text(Fate fate);

// Ranges of a file follow one another and add up to it.
struct SalvageRange {
  std::string file;  // relative to the store; empty if the store is the file
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  Fate fate = Fate::kept;
  std::string unit;           // "records", "header", "footer", "bytes", "file"...
  std::uint64_t records = 0;  // whole ones in it
  // Of formats with sequence numbers: the first and the last record in it. For a lost range the
  // nearest whole records on both sides.
  std::optional<std::uint64_t> first_seq, last_seq;
  std::string reason;    // the format's word for why it is not kept
  std::string saved_as;  // its name in lost+found; empty if nothing was written
  bool alone = false;    // has a file of its own there, so that it is never joined to another
};

struct SalvageTotals {
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
};

// What a salvage did, or (with an empty target) would do.
struct SalvageReport {
  std::string path;
  std::string format;
  Verdict verdict = Verdict::clean;  // of the source
  std::string target;                // the new store; empty for a rehearsal
  std::string lost_and_found;        // the directory beside or in it; likewise
  std::vector<SalvageRange> ranges;
  SalvageTotals kept, rebuilt, set_aside, lost;  // lost.records: known to have been there
  std::uint64_t unknown_records = 0;             // unfinished last units
  Json detail = Json::object();

  SalvageTotals& totals_of(Fate fate);
  // Counts the range in, and joins it to the one before where they are of a kind.
  void add(SalvageRange range);
  // Bytes that the new store lacks, and of how many.
  std::uint64_t missing_bytes() const { return set_aside.bytes + lost.bytes; }
  std::uint64_t all_bytes() const { return kept.bytes + rebuilt.bytes + missing_bytes(); }
};

// Refuses a salvage that would lose more. Neither: no limit.
struct MaxLoss {
  std::optional<std::uint64_t> bytes;
  std::optional<double> percent;  // of all bytes looked at; 0 to 100
};

// What is asked for. Without a target it only looks: the report is what it would do.
struct SalvageRequest {
  io::Environment* environment = nullptr;  // null: the system's
  unsigned threads = 0;
  std::uint64_t max_memory_bytes = std::uint64_t{1} << 30;  // a larger unit is not understood
  std::string target;  // the new store: nothing may be there, its parent must be
  MaxLoss max_loss;
  std::map<std::string, std::string> options;  // the format's own, see Format::options()
};

// varve.salvage/1
Json to_json(const SalvageReport& report);

}  // namespace varve
