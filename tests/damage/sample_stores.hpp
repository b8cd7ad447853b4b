// SPDX-License-Identifier: MIT OR Apache-2.0
// Healthy stores of every format among the shared fixtures, for tests that serve all formats.
#pragma once

#include <string>
#include <vector>

#include "io/simulated.hpp"
#include "tests/support.hpp"
#include "varve/store.hpp"

namespace varve::test {

struct SampleStore {
  std::string format;
  std::string path;  // below fixtures/
};

// In case files a `store` line names one of these paths.
inline std::vector<SampleStore> sample_stores() {
  const std::vector<SampleStore> all = {
      {"arena", "arena/a-plain-zero-end"},
      {"arena", "arena/b-txn2-format2"},
      {"kladde", "kladde/02-flushed.kladde"},
      {"kladde", "kladde/04-journal-all-records.kladde"},
      {"kladde", "kladde/09-table-leaves.kladde"},
      {"tay", "tay/stores/valid/lifecycle"},
      {"tay", "tay/stores/valid/highest-sealed"},
      {"jss", "jss/all_kinds.jss"},
      {"jss", "jss/active.jss"},
      {"jss", "jss/golden_seal.jss"},
  };
  std::vector<SampleStore> out;
  for (const SampleStore& store : all) {
    if (find_format(store.format) != nullptr) {
      out.push_back(store);
    }
  }
  return out;
}

// The store at "/store" of a simulated file system.
inline io::simulated::Image image_of(const std::string& fixture_path) {
  io::SimulatedFileSystem files;
  const auto copied = files.copy_from(io::posix_file_system(),
                                      shared_path("fixtures/" + fixture_path).string(), "/store");
  EXPECT_TRUE(copied) << copied.error().text();
  files.settle();
  return files.image();
}

// "tay/stores/valid/lifecycle" as a name that GoogleTest takes.
inline std::string test_name(std::string text) {
  for (char& c : text) {
    c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  }
  return text;
}

}  // namespace varve::test
