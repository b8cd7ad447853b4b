// SPDX-License-Identifier: MIT OR Apache-2.0
// What `cat` and `state` have in common: a scan whose rows go to stdout as JSON Lines while damage
// on the way is named on stderr.
#pragma once

#include <string>

#include "cli/open.hpp"
#include "cli/session.hpp"

namespace varve::cli {

// A request with what the command line says about the scan.
Result<ScanRequest> scan_request(const Session& session, const Target& target, Face face);

// Runs the scan and prints its rows; gives the exit code of the verdict.
Result<int> print_rows(Session& session, const Target& target, StoreView& view,
                       ScanRequest request);

// Names findings on stderr as they come: errors and warnings, at most `limit`, then how many more.
class FindingPrinter final : public FindingSink {
 public:
  FindingPrinter(Session& session, std::string store, std::size_t limit)
      : session_(session), store_(std::move(store)), limit_(limit) {}
  void add(Finding finding) override;
  // Says how many findings were not printed.
  void finish();
  std::uint64_t errors() const { return errors_; }

 private:
  Session& session_;
  std::string store_;
  std::size_t limit_;
  std::uint64_t seen_ = 0;
  std::uint64_t errors_ = 0;
};

}  // namespace varve::cli
