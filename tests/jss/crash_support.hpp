// SPDX-License-Identifier: MIT OR Apache-2.0
// What the crash tests share: rows that fill sectors, stores made of them, and how a store is
// looked at, recovered and used again after a crash.
#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

#include "fixture_rows.hpp"
#include "io/simulated.hpp"
#include "jss/names.hpp"
#include "jss/writing.hpp"
#include "tests/exhaustive/every_call.hpp"
#include "tests/exhaustive/every_crash.hpp"
#include "varve/jss.hpp"
#include "varve/jss_compact.hpp"
#include "view_support.hpp"

namespace varve::jss::test {

using varve::test::Claim;
using varve::test::Promises;
using Lines = std::vector<std::string>;

// Row number `seq` of every store here. A few paths of two accounts come again and again, so that
// compaction finds something; payloads do not compress, so that blocks cross sectors.
inline Row crash_row(std::uint64_t seq) {
  std::mt19937_64 random(seq);
  Row row;
  row.seq = seq;
  row.witnessed_at = static_cast<std::int64_t>(1'783'000'000'000'000 + seq);
  row.did = seq % 3 == 0 ? "did:plc:b" : "did:plc:a";
  row.kind = seq % 5 == 0 ? 3 : seq % 4 == 0 ? 2 : 1;
  row.collection = "app.bsky.feed.post";
  row.rkey = std::to_string(seq % 4);
  row.rev = "3mptbypluud22";
  if (row.kind != 3) {
    const std::size_t bytes = 200 + random() % 300;
    row.payload = {'\x59', static_cast<char>(bytes >> 8), static_cast<char>(bytes & 0xFF)};
    while (row.payload.size() < bytes + 3) {
      row.payload += static_cast<char>(random());
    }
  }
  return row;
}

inline WriterOptions crash_options(std::uint64_t rotation_bytes = std::uint64_t{1} << 30) {
  return {.threads = 1, .block_rows = 4, .rotation_bytes = rotation_bytes};
}

// Appends the rows up to `last`; false as soon as something fails.
inline bool append_until(Writer& writer, std::uint64_t last) {
  for (std::uint64_t seq = writer.next_seq(); seq <= last; ++seq) {
    if (!writer.append(crash_row(seq).event())) {
      return false;
    }
  }
  return true;
}

// What a reader sees of a store that nobody recovered.
struct Sight {
  std::optional<Error> refused;
  Verdict verdict = Verdict::clean;
  Lines lines;  // of the log, without places

  static Sight of(io::FileSystem& files, const std::string& path) {
    Sight out;
    const auto view = format().open(files, path, {});
    if (!view) {
      out.refused = view.error();
      return out;
    }
    ScanRequest request;
    request.threads = 1;
    Scanned scanned = scan_lines(**view, request);
    out.verdict = scanned.summary.verdict;
    for (const std::string& line : scanned.lines) {
      out.lines.push_back(line.substr(0, line.rfind(",\"at\":{")));
    }
    return out;
  }
};

// The lines of rows 1 to `last`.
inline const Lines& crash_lines(std::uint64_t last) {
  static std::map<std::uint64_t, Lines> made;
  if (!made.contains(last)) {
    io::SimulatedFileSystem files;
    EXPECT_TRUE(Writer::create(files, "/all.jss"));
    auto writer = Writer::open(files, "/all.jss", crash_options());
    EXPECT_TRUE(writer && append_until(**writer, last) && (*writer)->close());
    made[last] = Sight::of(files, "/all.jss").lines;
  }
  return made[last];
}

// Whether `lines` are lines of `all`, each at most once and in order.
inline bool in_order(const Lines& lines, const Lines& all) {
  auto at = all.begin();
  for (const std::string& line : lines) {
    at = std::find(at, all.end(), line);
    if (at == all.end()) {
      return false;
    }
    ++at;
  }
  return true;
}

inline bool begins_with(const Lines& lines, const Lines& all, std::uint64_t count) {
  return lines.size() >= count &&
         std::equal(all.begin(), all.begin() + static_cast<long>(count), lines.begin());
}

// A second machine with the same content.
inline std::unique_ptr<io::SimulatedFileSystem> copy_of(io::SimulatedFileSystem& files) {
  return std::make_unique<io::SimulatedFileSystem>(
      files.image(), io::SimulatedFileSystem::Options{nullptr, false});
}

// Judges a store that a writer of rows 1, 2, 3... left: what is wrong with it, or nothing.
//
// Section 14: nothing acknowledged is missing, no row is there twice, and either the next writer
// goes on behind the rows that a reader saw, or committed bytes cannot be told from hurt ones: then
// the file is refused, left alone, and still read.
inline std::string judge_appended(io::SimulatedFileSystem& files, const std::string& path,
                                  const Claim& claim, std::uint64_t most_rows, bool may_refuse) {
  const Lines& all = crash_lines(most_rows + 5);
  const Sight seen = Sight::of(files, path);
  if (seen.refused) {
    return "a reader is refused: " + seen.refused->text();
  }
  if (seen.lines.size() > most_rows || !in_order(seen.lines, all)) {
    return "rows that were not written";
  }
  if (!begins_with(seen.lines, all, claim.owed())) {
    return "only " + std::to_string(seen.lines.size()) + " rows of " +
           std::to_string(claim.owed()) + " are read";
  }
  // The verb, on a copy: it keeps what was seen and is content with its own work.
  {
    const auto other = copy_of(files);
    WriteRequest request;
    request.threads = 1;
    const auto report = recover_store(*other, path, request);
    if (!report && report.error().code != ErrorCode::damaged) {
      return "recover: " + report.error().text();
    }
    const Sight after = Sight::of(*other, path);
    if (after.refused || after.lines != seen.lines) {
      return "recover changed the rows";
    }
    if (report && after.verdict != Verdict::clean) {
      return "what recover leaves is not clean";
    }
  }
  const std::uint64_t hash = files.hash();
  auto writer = Writer::open(files, path, crash_options());
  if (!writer && writer.error().reason == "SegmentSealed") {
    return seen.verdict == Verdict::clean ? "" : "sealed but not clean";
  }
  if (!writer) {
    if (writer.error().code != ErrorCode::damaged || !may_refuse) {
      return "cannot go on: " + writer.error().text();
    }
    return seen.verdict != Verdict::damaged ? "refused but not seen as damaged"
           : files.hash() != hash           ? "a refused store was changed"
                                            : "";
  }
  if ((*writer)->next_seq() != seen.lines.size() + 1) {
    return "the next number is " + std::to_string((*writer)->next_seq()) + " behind " +
           std::to_string(seen.lines.size()) + " rows";
  }
  if (!append_until(**writer, most_rows + 5) || !(*writer)->seal()) {
    return "the writer does not go on";
  }
  writer->reset();
  const auto view = format().open(files, path, {});
  if (!view || Sight::of(files, path).lines != all) {
    return "the rows afterwards are others";
  }
  VerifyRequest request;
  request.threads = 1;
  const Verified verified = verify_view(**view, request);
  return verified.report.verdict == Verdict::clean ? ""
                                                   : "not clean afterwards: " + verified.text();
}

}  // namespace varve::jss::test
