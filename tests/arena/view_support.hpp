// SPDX-License-Identifier: MIT OR Apache-2.0
// Stores in memory, and what the view says about them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "arena/view.hpp"
#include "arena_support.hpp"

namespace varve::arena::test {

inline const std::string k_manifest_2 =
    "{\n  \"magic\": \"HMS_ARENA\",\n  \"version\": 2,\n  \"segment_size\": 1073741824\n}";
inline const std::string k_schema_2 =
    R"({"version":2,"dimensions":4096,"text_encoder":"multiscale-words-v1",)"
    R"("vector_encoder":"signed-projection-v2","metric":"jaccard","encrypted":false,)"
    R"("meaning_enabled":true,"embedding_space":null})";

inline void put(io::SimulatedFileSystem& files, const std::string& path, std::string_view bytes) {
  ASSERT_TRUE(files.put(path, base::as_bytes(bytes)).has_value()) << path;
}

inline std::unique_ptr<ArenaView> open_view(io::FileSystem& files, const std::string& path,
                                            const OpenOptions& options = {},
                                            const std::optional<Geometry>& geometry = {}) {
  auto view = ArenaView::open(files, path, options, geometry);
  EXPECT_TRUE(view.has_value()) << view.error().text();
  if (!view) {
    return nullptr;
  }
  (*view)->set_settle_ms(0);
  return *std::move(view);
}

struct Verified {
  VerifyReport report;
  FindingList findings = FindingList();
  // "error crc@44 note trimmed-copy ...": only those of at least that severity.
  std::string words(Severity least = Severity::note) const {
    std::string out;
    for (const Finding& finding : findings.findings()) {
      if (finding.severity >= least) {
        out += (out.empty() ? "" : " ") + finding.code +
               (finding.unit.empty() ? "" : "@" + std::to_string(finding.offset));
      }
    }
    return out;
  }
};

inline Verified verify(StoreView& view, const VerifyRequest& request = {}) {
  Verified out;
  auto report = view.verify(request, out.findings);
  EXPECT_TRUE(report.has_value()) << report.error().text();
  if (report) {
    out.report = *report;
  }
  return out;
}
inline Verified verify(io::FileSystem& files, const std::string& path,
                       const OpenOptions& options = {}) {
  const auto view = open_view(files, path, options);
  return view ? verify(*view) : Verified();
}

class LineSink final : public BatchSink {
 public:
  LineSink(const StoreView& view, Face face, const RenderOptions& options)
      : view_(view), face_(face), options_(options) {}
  Result<bool> consume(Batch batch) override {
    view_.render(face_, batch, options_, text);
    return true;
  }
  std::string text;

 private:
  const StoreView& view_;
  Face face_;
  RenderOptions options_;
};

struct Scanned {
  std::vector<std::string> lines;
  FindingList findings = FindingList();
  Verdict verdict = Verdict::clean;
  std::optional<Error> error;
};

inline std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

inline Scanned scan(StoreView& view, ScanRequest request = {}, const RenderOptions& render = {}) {
  Scanned out;
  LineSink sink(view, request.face, render);
  auto summary = view.scan(request, sink, out.findings);
  if (summary) {
    out.verdict = summary->verdict;
  } else {
    out.error = std::move(summary).error();
  }
  out.lines = split_lines(sink.text);
  return out;
}
inline Scanned state_of(StoreView& view, bool partial = false) {
  ScanRequest request;
  request.face = Face::state;
  request.partial = partial;
  return scan(view, request);
}

// The payload column of each line of `cat`.
inline std::vector<std::string> payloads_of(const std::vector<std::string>& lines) {
  std::vector<std::string> out;
  for (const std::string& line : lines) {
    const std::size_t begin = line.find("\"payload\":") + 10;
    out.push_back(line.substr(begin, line.find(",\"at\":") - begin));
  }
  return out;
}
inline std::string bytes_json(std::string_view bytes) {
  return "{\"$bytes\":\"" + base::to_base64(base::as_bytes(bytes)) + "\"}";
}

}  // namespace varve::arena::test
