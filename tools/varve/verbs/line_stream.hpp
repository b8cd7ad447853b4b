// SPDX-License-Identifier: MIT OR Apache-2.0
// The rows of a scan, pulled line by line while the scan runs on a thread of its own.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "varve/store.hpp"

namespace varve::cli {

// Holds a few batches of lines at most; the scan waits for whoever pulls.
class LineStream {
 public:
  // `view` and `findings` must outlive the stream. The request's mapper is replaced.
  LineStream(StoreView& view, ScanRequest request, RenderOptions render, FindingSink& findings);
  ~LineStream();
  LineStream(const LineStream&) = delete;
  LineStream& operator=(const LineStream&) = delete;

  // The next line without its line feed; nullopt at the end, or where the scan failed.
  std::optional<std::string> next();
  // After the end: how the scan went.
  const Result<ScanSummary>& outcome() const { return outcome_; }

 private:
  class Sink;
  void run();

  StoreView& view_;
  ScanRequest request_;
  RenderOptions render_;
  FindingSink& findings_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> texts_;  // rendered batches
  bool over_ = false;
  bool dropped_ = false;  // nobody pulls any more
  std::string text_;      // the batch that lines are taken from
  std::size_t at_ = 0;
  Result<ScanSummary> outcome_;
  std::thread thread_;
};

}  // namespace varve::cli
