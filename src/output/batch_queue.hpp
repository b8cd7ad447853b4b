// SPDX-License-Identifier: MIT OR Apache-2.0
// Batches on their way from a scan, which pushes, to a consumer on another thread, who pulls.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "varve/scan.hpp"

namespace varve::output {

// The scan's side waits while the queue is full, the consumer's while it is empty.
class BatchQueue final : public BatchSink {
 public:
  Result<bool> consume(Batch batch) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopped_ || batches_.size() < k_batches_ahead; });
    if (stopped_) {
      return false;
    }
    batches_.push_back(std::move(batch));
    changed_.notify_all();
    return true;
  }
  // The scan is over; `error` is empty if it went well.
  void end(std::optional<Error> error) {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
    error_ = std::move(error);
    changed_.notify_all();
  }
  // The consumer wants no more.
  void stop() {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  // The next batch; nothing at the end, where `error` gets what the scan failed with.
  std::optional<Batch> take(std::optional<Error>& error) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_ || !batches_.empty(); });
    if (batches_.empty()) {
      error = error_;
      return std::nullopt;
    }
    Batch batch = std::move(batches_.front());
    batches_.pop_front();
    changed_.notify_all();
    return batch;
  }

 private:
  static constexpr std::size_t k_batches_ahead = 4;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Batch> batches_;
  std::optional<Error> error_;
  bool ended_ = false;
  bool stopped_ = false;
};

}  // namespace varve::output
