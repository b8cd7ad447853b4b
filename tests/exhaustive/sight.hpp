// SPDX-License-Identifier: MIT OR Apache-2.0
// What a store looks like to a user: its verdict, its first finding, its log and its state. Made
// through the registration table, so that it serves every format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/checksum.hpp"
#include "varve/store.hpp"

namespace varve::test {

struct Sight {
  bool opened = false;
  Verdict verdict = Verdict::unknown;  // of verify; unknown if the store did not open
  std::string code;                    // of the first error finding or the error, else empty
  std::uint64_t offset = 0;            // of the same
  std::uint64_t warnings = 0;          // findings of at least warning, over verify and the scans
  std::vector<std::string> log;        // lines as `cat` prints them
  std::vector<std::string> state;      // lines as `state` prints them
  bool log_failed = false;             // the scan itself was refused
  bool state_failed = false;

  // Equal for equal logs and states.
  std::uint64_t fingerprint() const {
    std::string all;
    for (const auto* lines : {&log, &state}) {
      for (const std::string& line : *lines) {
        all += line;
        all += '\n';
      }
      all += '\f';
    }
    all += log_failed ? 'L' : ' ';
    all += state_failed ? 'S' : ' ';
    all += opened ? 'O' : ' ';
    return base::xxh3_64(base::as_bytes(all));
  }
};

// Renders what a scan delivers, line by line.
class LineSink final : public BatchSink {
 public:
  LineSink(const StoreView& view, Face face, std::vector<std::string>& out)
      : view_(view), face_(face), out_(out) {}
  Result<bool> consume(Batch batch) override {
    text_.clear();
    view_.render(face_, batch, RenderOptions{}, text_);
    for (std::size_t at = 0; at < text_.size();) {
      const std::size_t end = std::min(text_.find('\n', at), text_.size());
      out_.push_back(text_.substr(at, end - at));
      at = end + 1;
    }
    return true;
  }

 private:
  const StoreView& view_;
  Face face_;
  std::vector<std::string>& out_;
  std::string text_;
};

struct SightOptions {
  std::map<std::string, std::string> options;  // the format's own
  bool state = true;                           // look at the state too
  unsigned threads = 1;
};

inline Sight look_at(const Format& format, io::FileSystem& files, const std::string& path,
                     const SightOptions& options = {}) {
  Sight sight;
  OpenOptions open;
  open.threads = options.threads;
  open.options = options.options;
  const auto note_error = [&](const Error& error) {
    if (sight.code.empty()) {
      sight.code = error.reason;
      sight.offset = error.offset;
    }
    ++sight.warnings;
  };
  auto view = format.open(files, path, open);
  if (!view) {
    note_error(view.error());
    sight.verdict = to_finding(view.error()).verdict;
    return sight;
  }
  sight.opened = true;
  FindingList findings;
  VerifyRequest request;
  request.threads = options.threads;
  const auto report = (*view)->verify(request, findings);
  if (report) {
    sight.verdict = report->verdict;
  } else {
    note_error(report.error());
  }
  for (const Finding& finding : findings.findings()) {
    if (finding.severity == Severity::error && sight.code.empty()) {
      sight.code = finding.code;
      sight.offset = finding.offset;
    }
  }
  for (const Face face : {Face::log, Face::state}) {
    if (face == Face::state && !options.state) {
      continue;
    }
    ScanRequest scan;
    scan.face = face;
    scan.threads = options.threads;
    scan.options = options.options;
    LineSink sink(**view, face, face == Face::log ? sight.log : sight.state);
    if (const auto scanned = (*view)->scan(scan, sink, findings); !scanned) {
      note_error(scanned.error());
      (face == Face::log ? sight.log_failed : sight.state_failed) = true;
    }
  }
  sight.warnings += findings.errors() + findings.warnings();
  return sight;
}

// How many lines of `shorter`, from the start, are those of `whole`; SIZE_MAX if one differs or
// there are more.
inline std::size_t prefix_length(const std::vector<std::string>& shorter,
                                 const std::vector<std::string>& whole) {
  if (shorter.size() > whole.size()) {
    return SIZE_MAX;
  }
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    if (shorter[i] != whole[i]) {
      return SIZE_MAX;
    }
  }
  return shorter.size();
}

}  // namespace varve::test
