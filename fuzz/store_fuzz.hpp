// SPDX-License-Identifier: MIT OR Apache-2.0
// A small store of each format on a simulated file system, edits to its files as an input dictates
// them, and every reading verb over the outcome.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "fuzz/require.hpp"
#include "io/fixed_environment.hpp"
#include "io/simulated.hpp"
#include "varve/salvage.hpp"
#include "varve/store.hpp"

namespace varve::fuzz {

inline constexpr const char* k_store_path = "/store";

// Reads an input as numbers and runs of bytes; past its end everything is zero or empty.
class Script {
 public:
  explicit Script(base::ByteSpan bytes) : rest_(bytes) {}
  bool more() const { return !rest_.empty(); }
  std::uint32_t number(unsigned bytes) {
    std::uint32_t out = 0;
    for (unsigned i = 0; i < bytes; ++i) {
      out = out << 8 | (more() ? base::u8(rest_.front()) : 0U);
      rest_ = rest_.subspan(more() ? 1 : 0);
    }
    return out;
  }
  base::ByteSpan take(std::size_t count) {
    const base::ByteSpan out = rest_.first(std::min(count, rest_.size()));
    rest_ = rest_.subspan(out.size());
    return out;
  }

 private:
  base::ByteSpan rest_;
};

// A store of a few records of about `record_bytes`, made by the format's own writer.
inline io::simulated::Image make_base(const Format& format, const WriteRequest& wanted,
                                      const std::string& path, unsigned records,
                                      std::size_t record_bytes, bool sealed) {
  io::SimulatedFileSystem files({nullptr, false});
  io::FixedEnvironment environment;
  WriteRequest request = wanted;
  request.environment = &environment;
  request.threads = 1;
  require(files.add_directory("/lost").has_value());
  require(format.init(files, path, request).has_value());
  request.options.erase("bare");
  auto appender = format.open_appender(files, path, request);
  require(appender.has_value());
  for (unsigned number = 0; number < records; ++number) {
    std::string text = std::to_string(100 + number) + "-";
    text.append(record_bytes, static_cast<char>('a' + number));
    require((*appender)->append_line(format.probe_record(number, text)->line).has_value());
    require((*appender)->sync().has_value());
  }
  require((*appender)->end_of_input().has_value() && (*appender)->close().has_value());
  appender->reset();
  if (sealed) {
    require(format.seal(files, path, request).has_value());
  }
  return files.image();
}

// The store's files, sorted.
inline std::vector<std::string> members_of(io::SimulatedFileSystem& files) {
  std::vector<std::string> out;
  for (const std::string& path : files.paths()) {
    const std::string whole = path.starts_with('/') ? path : "/" + path;
    if (whole.starts_with(k_store_path) && !whole.ends_with('/')) {
      out.push_back(whole);
    }
  }
  return out;
}

// Edits as the script dictates: a place, and what is put there; a length of 255 cuts the file.
inline void edit(base::Bytes& file, Script& script) {
  for (unsigned edits = 1 + script.number(1) % 8; edits > 0 && script.more(); --edits) {
    const std::size_t at = file.empty() ? 0 : script.number(3) % (file.size() + 1);
    const std::uint32_t length = script.number(1);
    if (length == 255) {
      file.resize(at);
      continue;
    }
    const base::ByteSpan bytes = script.take(length);
    file.resize(std::max(file.size(), at + bytes.size()));
    std::copy(bytes.begin(), bytes.end(), file.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

class CountingSink final : public BatchSink {
 public:
  CountingSink(const StoreView& view, Face face) : view_(view), face_(face) {}
  Result<bool> consume(Batch batch) override {
    rows += batch.rows;
    text_.clear();
    view_.render(face_, batch, {}, text_);
    require(static_cast<std::size_t>(std::count(text_.begin(), text_.end(), '\n')) == batch.rows);
    digest_.update(base::as_bytes(text_));
    return true;
  }
  std::uint64_t digest() const { return digest_.digest(); }  // of all lines
  std::uint64_t rows = 0;

 private:
  const StoreView& view_;
  Face face_;
  std::string text_;
  base::Xxh3Stream digest_;
};

// Rows of a file follow each other without a gap or an overlap.
class CoverageSink final : public ExplainSink {
 public:
  bool add(ExplainRow row) override {
    if (!row.container) {
      std::uint64_t& position = positions_[row.file];
      require(row.offset == position && row.length != 0);
      position += row.length;
      bytes_ += row.length;
    }
    return true;
  }
  std::uint64_t bytes() const { return bytes_; }  // of all files

 private:
  std::map<std::string, std::uint64_t> positions_;
  std::uint64_t bytes_ = 0;
};

// What a salvage makes is clean, and of a clean store it leaves nothing out.
inline void look_at_salvage(const Format& format, io::SimulatedFileSystem& files,
                            const std::string& path, const OpenOptions& options, Verdict verdict) {
  io::FixedEnvironment environment;
  SalvageRequest request;
  request.environment = &environment;
  request.threads = 1;
  request.options = options.options;
  request.max_memory_bytes = options.max_memory_bytes;
  request.target = "/lost/new";
  FindingList findings;
  const auto report = format.salvage(files, path, request, findings);
  if (!report) {
    require(verdict != Verdict::clean);
    return;
  }
  require(verdict != Verdict::clean || report->lost.records == 0);
  auto view = format.open(files, request.target, options);
  require(view.has_value());
  FindingList of_new;
  VerifyRequest verify;
  verify.threads = 1;
  const auto again = (*view)->verify(verify, of_new);
  require(again.has_value() && again->verdict == Verdict::clean);
}

// Every reading verb; where two of them tell of the same thing, they agree.
inline void look(const Format& format, io::SimulatedFileSystem& files, const std::string& path,
                 const OpenOptions& options) {
  const auto view = format.open(files, path, options);
  if (!view) {
    return;
  }
  FindingList findings;
  VerifyRequest verify;
  verify.threads = 1;
  const auto report = (*view)->verify(verify, findings);
  const Verdict verdict = report ? report->verdict : Verdict::damaged;
  for (const Face face : {Face::log, Face::state}) {
    ScanRequest scan;
    scan.face = face;
    scan.threads = 1;
    scan.max_memory_bytes = options.max_memory_bytes;
    scan.options = options.options;
    CountingSink first(**view, face);
    CountingSink second(**view, face);
    FindingList of_scan;
    const auto summary = (*view)->scan(scan, first, of_scan);
    scan.threads = 2;
    const auto parallel = (*view)->scan(scan, second, of_scan);
    require(summary.has_value() == parallel.has_value());
    require(first.digest() == second.digest());
    if (summary) {
      require(summary->rows == first.rows && summary->verdict == parallel->verdict);
      require(verdict != Verdict::clean || summary->verdict == Verdict::clean);
    }
  }
  CoverageSink coverage;
  FindingList of_explain;
  (void)(*view)->explain({}, coverage, of_explain);
  FindingList of_stats;
  (void)(*view)->stats(of_stats);
  require((*view)->info().has_value() || verdict != Verdict::clean);
  look_at_salvage(format, files, path, options, verdict);
}

}  // namespace varve::fuzz
