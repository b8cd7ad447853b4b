// SPDX-License-Identifier: MIT OR Apache-2.0
// Views of fixture stores, for the tests of what the verbs say.
#pragma once

#include <simdjson.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tay/view.hpp"
#include "tests/exhaustive/sight.hpp"
#include "tests/tay/fixtures.hpp"

namespace varve::tay::test {

namespace fs = varve::test::fs;
using varve::test::LineSink;

inline std::vector<std::string> stores(const char* kind) {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(fixture("stores") / kind)) {
    if (entry.is_directory()) {
      out.push_back(entry.path().string());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

inline std::unique_ptr<StoreView> open(const std::string& path, const OptionMap& options = {}) {
  OpenOptions open_options;
  open_options.options = options;
  auto view = format().open(io::posix_file_system(), path, open_options);
  EXPECT_TRUE(view) << view.error().text();
  return *std::move(view);
}

struct Seen {
  VerifyReport report;
  FindingList findings;
  const Finding* first_error() const {
    for (const Finding& finding : findings.findings()) {
      if (finding.severity == Severity::error) {
        return &finding;
      }
    }
    return nullptr;
  }
};

inline Seen verify(const std::string& path, unsigned threads = 1, const OptionMap& options = {}) {
  Seen seen;
  VerifyRequest request;
  request.threads = threads;
  auto report = open(path, options)->verify(request, seen.findings);
  EXPECT_TRUE(report);
  seen.report = *std::move(report);
  return seen;
}

inline std::vector<std::string> lines(const std::string& path, ScanRequest request,
                                      Verdict* verdict = nullptr) {
  const auto view = open(path);
  std::vector<std::string> out;
  LineSink sink(*view, request.face, out);
  FindingList findings;
  const auto summary = view->scan(request, sink, findings);
  EXPECT_TRUE(summary);
  if (verdict != nullptr && summary) {
    *verdict = summary->verdict;
  }
  return out;
}

inline std::string json_text(simdjson::dom::element element) { return simdjson::minify(element); }

inline std::string text_of(simdjson::dom::element element) {
  return std::string(element.get_string().value());
}

// The reason word of a manifest: of a list the word, not the class before it.
inline std::string word_of(simdjson::dom::element reason) {
  if (reason.is_string()) {
    return text_of(reason);
  }
  const auto list = simdjson::dom::array(reason);
  const std::string first = text_of(list.at(0));
  if (first != "corrupt" && first != "unsupported") {
    return first;
  }
  return word_of(list.at(1));
}

}  // namespace varve::tay::test
