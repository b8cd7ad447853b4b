// SPDX-License-Identifier: MIT OR Apache-2.0
// A scan on a thread of its own, whose batches a consumer takes when it wants them.
#pragma once

#include <memory>
#include <optional>
#include <thread>

#include "output/batch_queue.hpp"
#include "varve/store.hpp"

namespace varve::output {

// Destroyed before the end it stops the scan and waits for it.
class PullScan {
 public:
  PullScan(std::shared_ptr<StoreView> view, ScanRequest request,
           std::shared_ptr<FindingSink> findings);
  PullScan(const PullScan&) = delete;
  PullScan& operator=(const PullScan&) = delete;
  ~PullScan();

  // The scan ends soon; destroying it then waits for little.
  void stop() { queue_.stop(); }

  // The next batch; nothing at the end, where `error` gets what the scan failed with, if it did.
  std::optional<Batch> next(std::optional<Error>& error) { return queue_.take(error); }

 private:
  void run();

  std::shared_ptr<StoreView> view_;
  ScanRequest request_;
  std::shared_ptr<FindingSink> findings_;
  BatchQueue queue_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace varve::output
