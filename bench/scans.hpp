// SPDX-License-Identifier: MIT OR Apache-2.0
// What benchmarks of scans share: results that must be there, and a sink that only counts.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "varve/store.hpp"

namespace varve::bench {

[[noreturn]] inline void give_up(const Error& error) {
  std::fprintf(stderr, "%s\n", error.text().c_str());
  std::exit(74);
}

template <class T>
T taken(Result<T> result) {
  if (!result) {
    give_up(result.error());
  }
  return *std::move(result);
}

// Takes batches and keeps nothing but their count.
class RowCounter final : public BatchSink {
 public:
  Result<bool> consume(Batch batch) override {
    rows += batch.rows;
    return true;
  }
  std::uint64_t rows = 0;
};

}  // namespace varve::bench
