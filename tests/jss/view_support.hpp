// SPDX-License-Identifier: MIT OR Apache-2.0
// Opening jss stores through the model, and collecting what they say.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "jss/view.hpp"
#include "tests/support.hpp"
#include "varve/store.hpp"

namespace varve::jss::test {

namespace fs = std::filesystem;

inline std::unique_ptr<StoreView> open_view(const fs::path& path, OpenOptions options = {}) {
  auto view = format().open(io::posix_file_system(), path.string(), options);
  if (!view) {
    throw std::runtime_error(view.error().text());
  }
  return *std::move(view);
}

// Renders each batch, and keeps the lines.
class LineCollector final : public BatchSink {
 public:
  explicit LineCollector(const StoreView& view, RenderOptions options = {})
      : view_(view), options_(std::move(options)) {}
  Result<bool> consume(Batch batch) override {
    std::string text;
    view_.render(Face::log, batch, options_, text);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      lines.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    return true;
  }
  std::vector<std::string> lines;

 private:
  const StoreView& view_;
  RenderOptions options_;
};

struct Scanned {
  std::vector<std::string> lines;
  std::vector<Finding> findings;
  ScanSummary summary;
};

inline Scanned scan_lines(StoreView& view, const ScanRequest& request = {},
                          RenderOptions options = {}) {
  LineCollector sink(view, std::move(options));
  FindingList findings;
  const auto summary = view.scan(request, sink, findings);
  if (!summary) {
    throw std::runtime_error(summary.error().text());
  }
  return {std::move(sink.lines), findings.findings(), *summary};
}

// Calls `take` with each line of a store's log, in order, holding no more than a batch.
template <class Take>
Scanned for_each_line(StoreView& view, Take take) {
  class Sink final : public BatchSink {
   public:
    Sink(const StoreView& view, Take& take) : view_(view), take_(take) {}
    Result<bool> consume(Batch batch) override {
      text_.clear();
      view_.render(Face::log, batch, {}, text_);
      for (std::size_t at = 0; at < text_.size();) {
        const std::size_t end = text_.find('\n', at);
        take_(std::string_view(text_).substr(at, end - at));
        at = end + 1;
      }
      return true;
    }

   private:
    const StoreView& view_;
    Take& take_;
    std::string text_;
  } sink(view, take);
  FindingList findings;
  const auto summary = view.scan({}, sink, findings);
  if (!summary) {
    throw std::runtime_error(summary.error().text());
  }
  return {{}, findings.findings(), *summary};
}

struct Verified {
  VerifyReport report;
  std::vector<Finding> findings;
  // The first finding of severity error, or nullptr.
  const Finding* first_error() const {
    for (const Finding& finding : findings) {
      if (finding.severity == Severity::error) {
        return &finding;
      }
    }
    return nullptr;
  }
  std::string text() const {
    std::string out;
    for (const Finding& f : findings) {
      out += std::string(to_text(f.severity)) + " " + f.stage + " " + f.code + " @" +
             std::to_string(f.offset) + "+" + std::to_string(f.length) + ": " + f.message + "\n";
    }
    return out;
  }
};

inline Verified verify_view(StoreView& view, VerifyRequest request = {}) {
  FindingList findings;
  auto report = view.verify(request, findings);
  if (!report) {
    throw std::runtime_error(report.error().text());
  }
  return {*std::move(report), findings.findings()};
}
inline Verified verify_path(const fs::path& path) {
  const auto view = open_view(path);
  return verify_view(*view);
}

// The single segment files of the fixtures; `valid`: those beside the manifest, else invalid/.
inline std::vector<fs::path> fixture_files(bool valid) {
  const fs::path root = varve::test::shared_path("fixtures/jss");
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(valid ? root : root / "invalid")) {
    if (entry.path().extension() == ".jss") {
      out.push_back(entry.path());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace varve::jss::test
