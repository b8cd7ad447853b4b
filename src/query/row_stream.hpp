// SPDX-License-Identifier: MIT OR Apache-2.0
// Rows pulled from a scan that pushes: the scan runs on a thread of its own, a few batches ahead.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <variant>

#include "varve/scan.hpp"

namespace varve::query {

class RowStream {
 public:
  // Pushes rows and findings; both sinks belong to the stream.
  using Work = std::function<Result<ScanSummary>(BatchSink&, FindingSink&)>;

  // Begins at once. What `work` refers to outlives the stream.
  explicit RowStream(Work work);
  RowStream(const RowStream&) = delete;
  RowStream& operator=(const RowStream&) = delete;
  // Stops the scan and waits for it.
  ~RowStream();

  // The next batch, or nullopt at the end. Findings that stand before it in the log go to the sink
  // on the calling thread. After an error or the end there is nothing more.
  Result<std::optional<Batch>> next(FindingSink& findings);
  // Of all rows, once next() has given nullopt; clean before.
  Verdict verdict() const { return verdict_; }

 private:
  using Item = std::variant<Batch, Finding, ScanSummary, Error>;
  class Pusher;

  Item take();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> items_;
  bool stopped_ = false;
  bool ended_ = false;  // of the caller's side alone
  Verdict verdict_ = Verdict::clean;
  std::thread thread_;
};

}  // namespace varve::query
