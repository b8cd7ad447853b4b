// SPDX-License-Identifier: MIT OR Apache-2.0
// The one model over all formats: what a format implements, and how a store is opened.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "varve/file_system.hpp"
#include "varve/finding.hpp"
#include "varve/json.hpp"
#include "varve/report.hpp"
#include "varve/result.hpp"
#include "varve/scan.hpp"

namespace varve {

// varve/salvage.hpp
struct SalvageReport;
struct SalvageRequest;
// varve/verify_receipt.hpp
struct VerifyReceipt;

struct OpenOptions {
  unsigned threads = 0;  // 0: all cores
  std::uint64_t max_memory_bytes = std::uint64_t{1} << 30;
  std::map<std::string, std::string> options;  // the format's own ("dialect" = "b"...)
};

struct VerifyRequest {
  bool quick = false;  // headers, footers, tails only
  unsigned threads = 0;
  // Called now and then with the bytes checked and the bytes to check; may be null.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
  // The receipt of an earlier run: what it proves and is unchanged since is not read again. May be
  // null; must outlive the call. Not used by a quick run.
  const VerifyReceipt* since = nullptr;
  bool make_receipt = false;  // fill in VerifyReport::receipt
};

// `info`, CONTRACT section 3. Absent optionals print null.
struct StoreInfo {
  std::string format;
  std::uint32_t version = 0;
  std::string path;
  std::uint64_t bytes = 0;
  std::uint64_t bytes_allocated = 0;
  std::uint64_t segments = 0;
  std::optional<std::uint64_t> units;
  std::optional<std::uint64_t> records;
  std::optional<std::uint64_t> first_seq, last_seq;
  std::optional<std::int64_t> first_time_us, last_time_us;
  std::optional<bool> sealed;
  std::optional<double> compression_ratio;  // uncompressed / stored, where it has a meaning
  std::string tail;                         // a few words on the end of the log
  Json detail = Json::object();             // every header field under the spec's name
};

// What a run of bytes looks like, in a stretch that no field of a unit covers.
struct ByteMark {
  enum class Kind : std::uint8_t {
    zeros,     // nothing but zero bytes
    repeated,  // one short pattern over and over: bytes of low entropy
    stale,     // a whole unit that nothing reaches: of an older state, or cut off by damage
  };
  Kind kind = Kind::zeros;
  std::uint64_t offset = 0;  // in the file
  std::uint64_t length = 0;
  std::string text;  // the pattern in hexadecimal, or what the stale unit is; empty for zeros
};

// One row of `explain`. Rows with `container` set name a unit whose parts follow with a greater
// depth; the lengths of all other rows of a file add up to the file.
struct ExplainRow {
  enum class Check : std::uint8_t { none, holds, fails };
  // What sort of bytes these are: what a terminal colours by.
  enum class Class : std::uint8_t {
    unset,    // told from the field's name: see model::class_of_field
    field,    // a value
    header,   // magic, version, flags
    check,    // a checksum
    length,   // a length, count or offset
    payload,  // what a user stored
    padding,  // bytes without meaning that the format puts there
    gap,      // bytes that belong to no unit
    stale,    // a unit of an older state
  };
  std::string file;  // relative to the store; empty if the store is the file
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  unsigned depth = 0;
  bool container = false;
  std::string field;    // the spec's name
  std::string value;    // decoded
  std::string meaning;  // what it is for, or what is wrong
  std::string raw;      // up to the first 32 bytes, as they stand in the file
  Check check = Check::none;
  Class sort = Class::unset;
  std::vector<ByteMark> marks = {};  // ascending, inside the row; formats fill in stale ones only
};

class ExplainSink {
 public:
  virtual ~ExplainSink() = default;
  // Returns false to stop.
  virtual bool add(ExplainRow row) = 0;
};

struct ExplainRequest {
  std::string file;                     // member to explain; empty means all
  std::optional<std::uint64_t> offset;  // only the unit that holds this byte
};

// `get`: one record, allocation, job or document.
struct GetResult {
  Json document;                   // what is printed
  std::optional<std::string> raw;  // the bytes that `-o FILE` writes, where the thing has any
};

// `stats`: named distributions.
struct Distribution {
  struct Category {
    std::string name;
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
  };
  std::string name;  // "record size"
  std::string unit;  // "bytes"
  // Either numeric: exact count, sum, minimum and maximum, quantiles good to a sixteenth, and how
  // many values have each bit width (element i: values in [2^(i-1), 2^i); element 0: zeros)...
  std::uint64_t count = 0, sum = 0, minimum = 0, maximum = 0;
  std::uint64_t p50 = 0, p90 = 0, p99 = 0;
  std::vector<std::uint64_t> by_bit_width;
  // ...or by category, most frequent first (or in an order of their own, as time has).
  std::vector<Category> categories;
};

struct StatsReport {
  std::vector<Distribution> distributions;
};

// An open store, for reading. Opening finds the members and fixes the horizon (what another process
// appends later is not looked at); it fails only where there is nothing to look at: damage is
// found, and told, by the calls below. Nothing here writes, locks or creates.
//
// One call at a time; a call may use several threads itself.
class StoreView {
 public:
  virtual ~StoreView() = default;

  virtual Result<StoreInfo> info() = 0;
  // Checks every byte that a checksum or rule covers. Findings go to the sink, in log order, the
  // first error finding being the one that the spec's check order gives.
  virtual Result<VerifyReport> verify(const VerifyRequest& request, FindingSink& findings) = 0;

  virtual const Schema& schema(Face face) const = 0;
  // Pushes the rows that fulfil the predicate, in order. Damage on the way goes to `findings`; the
  // scan goes on behind it where the format allows, unless `strict`.
  virtual Result<ScanSummary> scan(const ScanRequest& request, BatchSink& sink,
                                   FindingSink& findings) = 0;
  // Appends a batch's rows as JSON Lines (CONTRACT sections 5 and 6). Thread-safe.
  virtual void render(Face face, const Batch& batch, const RenderOptions& options,
                      std::string& out) const = 0;

  // What a scan would read and why, as JSON ("cat --plan").
  virtual Result<Json> plan(const ScanRequest& request);
  virtual Result<GetResult> get(const std::string& key, const RenderOptions& options,
                                FindingSink& findings);
  virtual Result<ScanSummary> explain(const ExplainRequest& request, ExplainSink& sink,
                                      FindingSink& findings);
  virtual Result<StatsReport> stats(FindingSink& findings);

  // What a client should download to get the records that fulfil the request (`varve plan`): the
  // format's own planning document. `body` is a request in the format's own JSON, or empty; the
  // predicate and options of the request come on top of it.
  virtual Result<Json> snapshot_plan(const ScanRequest& request, std::string_view body);
};

// What a writing verb did (or, in a rehearsal, would do).
struct WriteReport {
  struct Action {
    std::string file;
    std::string what;  // "write end marker", "truncate", "rename"...
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
  };
  std::vector<Action> actions;
  bool dry_run = false;
  Json detail = Json::object();
};

enum class SyncMode : std::uint8_t { each, batch, none };

// Options of the writing verbs. `options` are the format's own, see Format::options().
struct WriteRequest {
  io::Environment* environment = nullptr;  // null: the system's
  unsigned threads = 0;
  bool dry_run = false;
  std::map<std::string, std::string> options;
};

// A store open for appending. After a failure it is poisoned: reopen and look.
class Appender {
 public:
  virtual ~Appender() = default;
  // Takes one line of CONTRACT section 5's shape; derived keys and `at` are ignored. The record is
  // not durable before the next sync() returns.
  virtual Result<void> append_line(std::string_view json) = 0;
  // Makes everything appended so far durable; gives the number of records acknowledged in all.
  virtual Result<std::uint64_t> sync() = 0;
  // Writes what is pending without syncing it; gives the number of records written in all.
  virtual Result<std::uint64_t> flush() = 0;
  // Records taken that wait for the rest of their transaction; sync() leaves them out.
  virtual std::uint64_t held() const { return 0; }
  // What opening the store for writing wrote (its recovery), for the report.
  virtual std::span<const WriteReport::Action> opening() const { return {}; }
  // No more lines come: what is held is whole. Without it close() drops what is held.
  virtual Result<void> end_of_input() { return {}; }
  virtual Result<void> close() = 0;
};

// One of the format's own options, as the program offers it.
struct OptionSpec {
  std::string_view name;        // without dashes
  std::string_view value_name;  // empty for a flag (its value is then "1")
  std::string_view help;
  std::string_view verbs;         // space-separated verbs it belongs to: "cat state"
  std::string_view choices = {};  // space-separated values it may take; empty: any
};

struct FilterSpec {
  std::string_view name;
  std::string_view value_name;
  std::string_view help;
  bool repeatable = false;
  std::string_view verbs;         // "cat", "cat state"
  std::string_view choices = {};  // space-separated values it may take; empty: any
};

enum class Confidence : std::uint8_t { none, by_name, by_content };

// A record that a test of a machine can write and find again (`varve torture`).
struct ProbeRecord {
  std::string line;                     // as append takes it
  Face face;                            // where it is found: its row stands at place `number` there
  std::string shows;                    // what that row holds, and no other record's does
  std::string_view upkeep = "recover";  // space-separated verbs that leave the row where it is
};

// One on-disk format: its entry in the registration table. Stateless.
class Format {
 public:
  virtual ~Format() = default;
  virtual std::string_view name() const = 0;
  virtual std::string_view summary() const = 0;  // one line for --help
  virtual std::span<const FilterSpec> filters() const = 0;
  virtual std::span<const OptionSpec> options() const = 0;
  // Whether --seq, --since/--until have a meaning for this format's log.
  virtual bool has_seq() const = 0;
  virtual bool has_time() const = 0;

  // How sure the format is that `path` is one of its stores. Reads little.
  virtual Confidence detect(io::FileSystem& files, const std::string& path) const = 0;
  virtual Result<std::unique_ptr<StoreView>> open(io::FileSystem& files, const std::string& path,
                                                  const OpenOptions& options) const = 0;

  // The same of a file by itself that may be a member of a store: a segment without its directory.
  // For formats whose stores are files that is detect().
  virtual Confidence detect_member(io::FileSystem& files, const std::string& path) const;
  // Explains one file by itself, whatever it holds: nothing around it is needed, no rule but those
  // of the file itself is applied, and no content is refused. Only `offset` of the request counts;
  // `file` of rows and findings is empty.
  virtual Result<ScanSummary> explain_member(io::FileSystem& files, const std::string& path,
                                             const ExplainRequest& request,
                                             const OpenOptions& options, ExplainSink& sink,
                                             FindingSink& findings) const;

  // What `get` takes as a key, for help texts: "SEQ, at://DID/COLLECTION/RKEY or @OFFSET".
  virtual std::string_view key_help() const { return "ID or @OFFSET"; }
  // One or two sentences on what to do with a store of this verdict, where the common advice of
  // `verify` is not enough; printed for people only.
  virtual std::string_view advice(Verdict verdict) const;
  // Another exit code for `verify` than CONTRACT section 2's, where one of the format's own options
  // of that verb asks for it (scripts written for the format's original verifier).
  virtual std::optional<int> verify_exit_code(
      const VerifyReport& report, std::span<const Finding> findings,
      const std::map<std::string, std::string>& options) const;

  // The record of that number, counted from 0, around `text` (letters, digits and dashes that begin
  // with the number, padded with zeros). nullopt: the format cannot be tortured.
  virtual std::optional<ProbeRecord> probe_record(std::uint64_t number,
                                                  std::string_view text) const;

  // The writing verbs; a format that lacks one leaves the default, which is
  // ErrorCode::unsupported with the reason "not_offered".
  virtual Result<WriteReport> init(io::FileSystem& files, const std::string& path,
                                   const WriteRequest& request) const;
  virtual Result<std::unique_ptr<Appender>> open_appender(io::FileSystem& files,
                                                          const std::string& path,
                                                          const WriteRequest& request) const;
  virtual Result<WriteReport> seal(io::FileSystem& files, const std::string& path,
                                   const WriteRequest& request) const;
  virtual Result<WriteReport> recover(io::FileSystem& files, const std::string& path,
                                      const WriteRequest& request) const;
  virtual Result<WriteReport> compact(io::FileSystem& files, const std::string& path,
                                      const WriteRequest& request) const;
  // A consistent copy of a possibly live store in the new directory `target`, with a catalogue.
  virtual Result<WriteReport> backup(io::FileSystem& files, const std::string& path,
                                     const std::string& target, const WriteRequest& request) const;
  // Writes a new store of every intact record that it can hold, and lost+found with the rest (see
  // varve/salvage.hpp, docs/salvage.md). Findings of the source go to the sink. `path` is never
  // written to, nor locked. Errors: ErrorCode::damaged, reason "max_loss", if more would be missing
  // than allowed.
  virtual Result<SalvageReport> salvage(io::FileSystem& files, const std::string& path,
                                        const SalvageRequest& request, FindingSink& findings) const;
};

// The registration table, in the order of detection.
std::span<const Format* const> formats();
// The format of that name, or nullptr.
const Format* find_format(std::string_view name);

// Detects the format of `path` by content, then by name. ErrorCode::not_a_store if none claims it,
// ErrorCode::io if there is nothing at `path`.
Result<const Format*> detect_format(io::FileSystem& files, const std::string& path);

// Detects and opens.
Result<std::unique_ptr<StoreView>> open_store(const std::string& path,
                                              const OpenOptions& options = {});

// "0.1.0", and the codec libraries with the CPU path they take, one a line.
std::string_view version();
std::string version_details();

}  // namespace varve
