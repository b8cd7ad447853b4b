// SPDX-License-Identifier: MIT OR Apache-2.0
// A file of a store truncated at every byte.
#pragma once

#include <concepts>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "io/simulated.hpp"
#include "tests/exhaustive/tables.hpp"
#include "tests/support.hpp"

namespace varve::test {

// How a store with one file cut looks; cuts that look alike share a row of the table.
struct CutLook {
  std::string verdict;
  std::string code;
  std::uint64_t records = 0;  // proven intact
  friend bool operator==(const CutLook&, const CutLook&) = default;
};

template <class Look>
concept LooksAtCuts = requires(Look look, io::SimulatedFileSystem& files, std::uint64_t size) {
  { look(files, size) } -> std::same_as<CutLook>;
};

struct SamplingOptions {
  std::uint64_t exhaustive_bytes = 64 << 10;  // larger files are sampled
  std::uint64_t samples = 4096;
  std::uint64_t seed = 1;
};

// Everything that the defaults ask for, or a small sample under VARVE_TEST_SMALL.
inline SamplingOptions scaled_sampling() {
  SamplingOptions options;
  if (small_run()) {
    options.exhaustive_bytes = 0;
    options.samples = scaled(options.samples);
  }
  return options;
}

// The positions to try in [0, count): all of them, or a sample that holds both ends.
inline std::vector<std::uint64_t> positions(std::uint64_t count, bool all,
                                            const SamplingOptions& options) {
  std::vector<std::uint64_t> out;
  if (all) {
    for (std::uint64_t i = 0; i < count; ++i) {
      out.push_back(i);
    }
    return out;
  }
  std::mt19937_64 random(options.seed);
  std::set<std::uint64_t> chosen = {0, count - 1};
  while (chosen.size() < std::min(options.samples, count)) {
    chosen.insert(random() % count);
  }
  out.assign(chosen.begin(), chosen.end());
  return out;
}

struct CutReport {
  struct Row {
    std::uint64_t first = 0;  // sizes in bytes
    std::uint64_t last = 0;
    CutLook look;
  };
  std::vector<Row> rows;
  std::uint64_t cuts = 0;
  bool sampled = false;

  Table table(const std::string& title) const {
    Table out(title, {"size in bytes", "verdict", "first finding", "records"});
    for (const Row& row : rows) {
      out.add_row(
          {range_text(row.first, row.last), row.look.verdict, row.look.code, row.look.records});
    }
    out.add_note(std::to_string(cuts) + (sampled ? " sizes sampled." : " sizes, every one."));
    return out;
  }
};

// Cuts `path` of the store in `image` to each size from 0 to one byte less than whole, and looks.
// The look sees a fresh file system each time; it makes its own assertions.
template <LooksAtCuts Look>
CutReport every_cut(const io::simulated::Image& image, const std::string& path, Look look,
                    const SamplingOptions& options = {}) {
  const io::SimulatedFileSystem::Options plain{nullptr, false};
  const std::uint64_t size =
      io::SimulatedFileSystem(image, plain).get(path).value_or(std::vector<std::byte>{}).size();
  CutReport report;
  report.sampled = size > options.exhaustive_bytes;
  if (size == 0) {
    return report;
  }
  for (const std::uint64_t cut : positions(size, !report.sampled, options)) {
    io::SimulatedFileSystem files(image, plain);
    (void)files.set_size(path, cut);
    const CutLook now = look(files, cut);
    ++report.cuts;
    if (report.rows.empty() || !(report.rows.back().look == now)) {
      report.rows.push_back({cut, cut, now});
    }
    report.rows.back().last = cut;
  }
  return report;
}

}  // namespace varve::test
