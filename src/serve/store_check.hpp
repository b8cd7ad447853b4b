// SPDX-License-Identifier: MIT OR Apache-2.0
// The check of a whole store, and the index of its units, made in the background and kept.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "output/explain_store.hpp"
#include "output/unit_index.hpp"
#include "serve/reading_files.hpp"
#include "varve/report.hpp"
#include "varve/store.hpp"

namespace varve::serve {

struct CheckResult {
  std::string generation;  // of the store when the check began
  VerifyReport report;
  FindingList findings;
  output::UnitIndex units;
  std::optional<Error> error;  // why there is no report; its verdict is the report's then
  double elapsed_s = 0;
};

// One check of one store. Thread-safe.
class StoreCheck {
 public:
  struct Progress {
    bool running = false;
    const char* phase = "";  // "verify", then "units"
    std::uint64_t done_bytes = 0;
    std::uint64_t total_bytes = 0;
  };

  // Begins at once, on a thread of its own. `files` outlives the check.
  StoreCheck(io::FileSystem& files, const Format& format, std::string path, std::string generation,
             unsigned threads);
  StoreCheck(const StoreCheck&) = delete;
  StoreCheck& operator=(const StoreCheck&) = delete;
  // Calls the check off, and waits for that.
  ~StoreCheck();

  Progress progress() const;
  // Null until it is done.
  std::shared_ptr<const CheckResult> result() const;

 private:
  void run(std::string generation, unsigned threads);
  void verify(CheckResult& result, unsigned threads);
  void index_units(CheckResult& result);
  void tell(const char* phase, std::uint64_t done, std::uint64_t total);

  std::shared_ptr<StopSign> sign_ = std::make_shared<StopSign>();
  ReadingFiles files_;
  output::ExplainTarget target_;
  mutable std::mutex mutex_;
  Progress progress_;
  std::shared_ptr<const CheckResult> result_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace varve::serve
