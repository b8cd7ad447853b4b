// SPDX-License-Identifier: MIT OR Apache-2.0
// Archives for tests of remote reading, and both ways of opening them.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "serve/remote_view.hpp"
#include "tests/jss/generated_rows.hpp"
#include "tests/jss/view_support.hpp"
#include "tests/serve/archive_server.hpp"
#include "tests/support.hpp"
#include "varve/jss.hpp"
#include "varve/jss_compact.hpp"

namespace varve::serve::test {

using varve::test::ScratchDirectory;

struct ArchiveShape {
  unsigned segments = 4;
  unsigned rows = 600;  // of a segment
  std::uint32_t block_rows = 50;
  std::uint64_t seed = 7;
};

// Sealed segments of made-up rows, and an empty active one behind them.
inline std::filesystem::path make_archive(const std::filesystem::path& at,
                                          const ArchiveShape& shape = {}) {
  io::FileSystem& files = io::posix_file_system();
  EXPECT_TRUE(jss::Writer::create(files, at.string()));
  jss::WriterOptions options;
  options.block_rows = shape.block_rows;
  auto writer = jss::Writer::open(files, at.string(), options);
  EXPECT_TRUE(writer);
  jss::test::RowMaker rows(shape.seed, 60);
  for (unsigned segment = 0; segment < shape.segments; ++segment) {
    for (unsigned i = 0; i < shape.rows; ++i) {
      EXPECT_TRUE((*writer)->append(rows.next().event()));
    }
    EXPECT_TRUE((*writer)->seal());
  }
  EXPECT_TRUE((*writer)->close());
  return at;
}

inline RemoteOptions quick_options() {
  RemoteOptions options;
  options.first_pause = std::chrono::milliseconds(2);
  options.longest_pause = std::chrono::milliseconds(50);
  options.read_timeout = std::chrono::milliseconds(2000);
  return options;
}

inline std::unique_ptr<StoreView> open_url(const std::string& url,
                                           RemoteOptions options = quick_options()) {
  auto view = open_remote(url, {}, std::move(options));
  if (!view) {
    throw std::runtime_error(view.error().text());
  }
  return *std::move(view);
}

// A scan that may fail in the end.
struct TriedScan {
  std::vector<std::string> lines;
  std::vector<Finding> findings;
  Result<ScanSummary> summary;
};

inline TriedScan try_scan(StoreView& view, const ScanRequest& request = {}) {
  TriedScan out;
  jss::test::LineCollector sink(view);
  FindingList findings;
  out.summary = view.scan(request, sink, findings);
  out.lines = std::move(sink.lines);
  out.findings = findings.findings();
  return out;
}

}  // namespace varve::serve::test
