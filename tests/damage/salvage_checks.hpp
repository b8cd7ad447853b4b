// SPDX-License-Identifier: MIT OR Apache-2.0
// What must hold for every salvage, of any format and any damage.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "io/fixed_environment.hpp"
#include "io/simulated.hpp"
#include "tests/exhaustive/sight.hpp"
#include "varve/salvage.hpp"
#include "varve/store.hpp"

namespace varve::test {

// A line of the log without what changes when a record moves to another store: its place.
inline std::string without_place(std::string line) {
  if (const std::size_t at = line.rfind(",\"at\":{"); at != std::string::npos) {
    line.erase(at, line.find('}', at) + 1 - at);
  }
  // Numbers of formats that count what they hold.
  for (const std::string_view key : {"{\"frame\":", "{\"txn\":"}) {
    if (line.starts_with(key)) {
      line.erase(1, line.find(','));
      if (key[2] == 'f') {
        line.erase(1, line.find(','));  // and its seq, which follows
      }
    }
  }
  return line;
}

inline std::vector<std::string> log_of(const Format& format, io::FileSystem& files,
                                       const std::string& path,
                                       std::map<std::string, std::string> options = {}) {
  std::vector<std::string> out;
  OpenOptions open;
  open.threads = 1;
  open.options = std::move(options);
  auto view = format.open(files, path, open);
  if (view) {
    ScanRequest request;
    request.threads = 1;
    FindingList findings;
    LineSink sink(**view, Face::log, out);
    (void)(*view)->scan(request, sink, findings);
  }
  for (std::string& line : out) {
    line = without_place(std::move(line));
  }
  return out;
}

// Bytes, type and times of everything below a path.
inline std::vector<std::string> listing_of(io::SimulatedFileSystem& files,
                                           const std::string& root) {
  std::vector<std::string> names = files.paths(root);
  names.emplace_back();
  std::vector<std::string> out;
  for (const std::string& name : names) {
    const std::string path = root + (name.empty() ? "" : "/" + name);
    const auto identity = files.identity_of(path);
    std::string line = name;
    if (identity) {
      line += ' ' + std::to_string(identity->modified_ns) + ' ' +
              std::to_string(identity->changed_ns) + ' ' + std::to_string(identity->inode);
      if (identity->type == io::FileType::regular) {
        line += ' ' + std::to_string(base::xxh3_64(files.get(path).value()));
      }
    }
    out.push_back(std::move(line));
  }
  return out;
}

// The ranges of every file follow one another and add up to it.
inline void expect_ranges_add_up(const SalvageReport& report, io::SimulatedFileSystem& files,
                                 const std::string& root) {
  std::map<std::string, std::uint64_t> ends;
  std::map<Fate, SalvageTotals> totals;
  for (const SalvageRange& range : report.ranges) {
    std::uint64_t& end = ends[range.file];
    EXPECT_EQ(range.offset, end) << range.file << " " << range.unit;
    end = range.offset + range.length;
    totals[range.fate].bytes += range.length;
    totals[range.fate].records += range.records;
  }
  for (const auto& [file, end] : ends) {
    const auto bytes = files.get(root + (file.empty() ? "" : "/" + file));
    ASSERT_TRUE(bytes) << file;
    EXPECT_EQ(end, bytes->size()) << file;
  }
  EXPECT_EQ(totals[Fate::kept].bytes, report.kept.bytes);
  EXPECT_EQ(totals[Fate::kept].records, report.kept.records);
  EXPECT_EQ(totals[Fate::set_aside].records, report.set_aside.records);
  EXPECT_EQ(totals[Fate::lost].bytes, report.lost.bytes);
}

// Raw bytes in lost+found are those of the source.
inline void expect_saved(const SalvageReport& report, io::SimulatedFileSystem& files,
                         const std::string& root) {
  for (const SalvageRange& range : report.ranges) {
    if (!range.saved_as.ends_with(".bin")) {
      continue;
    }
    const auto saved = files.get(report.lost_and_found + "/" + range.saved_as);
    ASSERT_TRUE(saved) << range.saved_as;
    const auto source = files.get(root + (range.file.empty() ? "" : "/" + range.file)).value();
    ASSERT_EQ(saved->size(), range.length);
    EXPECT_TRUE(std::equal(saved->begin(), saved->end(),
                           source.begin() + static_cast<std::ptrdiff_t>(range.offset)))
        << range.saved_as;
    EXPECT_TRUE(files.get(report.lost_and_found + "/" + range.saved_as + ".json"));
  }
}

struct Salvaged {
  SalvageReport report;
  std::vector<std::string> log;    // of the new store
  std::vector<std::string> aside;  // lines in lost+found, without their places
};

// Rehearses, salvages "/store" to "/new", and checks everything that does not depend on the damage.
// nullopt, with the error in `why`, where the source is refused.
inline std::optional<Salvaged> salvage_and_check(const Format& format,
                                                 io::SimulatedFileSystem& files, std::string& why,
                                                 SalvageRequest request = {}) {
  io::FixedEnvironment environment(1'704'067'200'000'000'000, 1'000'000, 7);
  request.environment = &environment;
  request.threads = 1;
  const auto before = listing_of(files, "/store");
  FindingList findings;
  const auto rehearsed = format.salvage(files, "/store", request, findings);
  EXPECT_FALSE(files.identity_of("/new")) << "a rehearsal writes nothing";
  request.target = "/new";
  request.threads = 3;
  auto report = format.salvage(files, "/store", request, findings);
  EXPECT_EQ(listing_of(files, "/store"), before) << "the source was touched";
  EXPECT_EQ(rehearsed.has_value(), report.has_value());
  if (!report) {
    why = report.error().reason + ": " + report.error().text();
    EXPECT_FALSE(files.identity_of("/new"));
    for (const std::string& name : files.paths("/")) {
      EXPECT_EQ(name.find("varve-partial"), std::string::npos) << name;
    }
    return std::nullopt;
  }
  Salvaged out;
  out.report = *std::move(report);
  EXPECT_EQ(rehearsed->kept.records, out.report.kept.records);
  EXPECT_EQ(rehearsed->missing_bytes(), out.report.missing_bytes());
  EXPECT_EQ(rehearsed->ranges.size(), out.report.ranges.size());
  EXPECT_EQ(rehearsed->verdict, out.report.verdict);
  EXPECT_EQ(to_text(out.report.verdict), to_text(look_at(format, files, "/store").verdict));
  expect_ranges_add_up(out.report, files, "/store");
  expect_saved(out.report, files, "/store");
  EXPECT_TRUE(files.get(out.report.lost_and_found + "/salvage.json"));
  const Sight sight = look_at(format, files, "/new");
  EXPECT_EQ(to_text(sight.verdict), "clean") << sight.code << " @" << sight.offset;
  out.log = log_of(format, files, "/new");
  EXPECT_EQ(out.log.size(), out.report.kept.records);
  if (const auto lines = files.get(out.report.lost_and_found + "/records.jsonl")) {
    const std::string text(base::as_text(*lines));
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      out.aside.push_back(without_place(text.substr(at, end - at)));
      at = end + 1;
    }
  }
  return out;
}

// Whether each line of `some` occurs in `all`, in that order.
inline bool is_subsequence(const std::vector<std::string>& some,
                           const std::vector<std::string>& all) {
  auto at = all.begin();
  for (const std::string& line : some) {
    at = std::find(at, all.end(), line);
    if (at == all.end()) {
      return false;
    }
    ++at;
  }
  return true;
}

}  // namespace varve::test
