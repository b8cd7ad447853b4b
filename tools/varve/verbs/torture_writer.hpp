// SPDX-License-Identifier: MIT OR Apache-2.0
// The process that writes, and dies.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "varve/store.hpp"

namespace varve::cli {

struct WriterPlan {
  std::uint64_t seed = 1;
  std::uint64_t first = 0;    // number of the first record to append
  std::uint64_t records = 0;  // to append, unless killed before
  std::uint64_t batch = 1;    // records between two syncs
  std::string upkeep;         // "compact", "seal", "recover": done before the first append
};

struct WriterKill {
  std::uint64_t after_acknowledgements = 0;
  std::chrono::microseconds and_then{0};
};

struct WriterEnd {
  std::uint64_t acknowledged = 0;  // the store holds so many records at least
  std::uint64_t begun = 0;         // and so many at most
  bool killed = false;
  std::string failure;  // what the writer said of a failing call, or how it ended unasked
};

// Forks a writer, kills it as planned, waits for it. Errors: no process, no pipe.
Result<WriterEnd> run_writer(io::FileSystem& files, const Format& format, const std::string& path,
                             const WriterPlan& plan, const WriterKill& kill);

}  // namespace varve::cli
