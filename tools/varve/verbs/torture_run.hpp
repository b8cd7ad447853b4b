// SPDX-License-Identifier: MIT OR Apache-2.0
// Writers killed at random, and what is left of their stores compared with what they acknowledged.
//
// A round: a child process opens the store, appends records batch by batch, makes each batch
// durable and says so through a pipe, until SIGKILL ends it after a random number of batches and a
// random moment more. Then the parent reads the store: verify must not find damage, every record
// that was acknowledged must be there, and whatever is there must be the records in their order.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "varve/store.hpp"

namespace varve::cli {

struct TortureRequest {
  std::uint64_t seed = 1;
  std::uint64_t rounds = 0;
  std::string directory;           // stores are made in it, and removed where all went well
  std::function<bool()> finished;  // asked after each round; may be empty
};

struct TortureResult {
  std::uint64_t rounds = 0;
  std::uint64_t kills = 0;         // writers that SIGKILL met before they were done
  std::uint64_t acknowledged = 0;  // records that a writer said were durable
  std::uint64_t found = 0;         // records found after its end
  std::uint64_t torn = 0;          // stores that verify called torn
  std::uint64_t stores = 0;
  std::string failure;  // empty: nothing acknowledged was lost
  std::string kept;     // the store of the failure
};

// The text of a record: its number, then letters and digits that depend on seed and number.
std::string torture_text(std::uint64_t seed, std::uint64_t number);

// Forks: no other thread may run. Errors are of the machine (no process, no pipe); what a store or
// its writer does wrong is the result's `failure`.
Result<TortureResult> torture(io::FileSystem& files, const Format& format,
                              const TortureRequest& request);

// Removes a file, or a directory with all that is in it.
Result<void> remove_store(io::FileSystem& files, const std::string& path);

}  // namespace varve::cli
