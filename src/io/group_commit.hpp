// SPDX-License-Identifier: MIT OR Apache-2.0
// Group commit: many callers append at once, and each batch of what they brought is one write, one
// read-back where the format wants it, and one sync.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "varve/file_system.hpp"

namespace varve::io {

// How a batch of bytes is made durable.
struct CommitMode {
  bool read_back = false;  // read the bytes again and compare them before the sync
  bool sync = true;        // data_sync; without it the bytes survive a process kill only
};

// Writes `bytes` at `offset`, reads them back, syncs: what the mode asks for. A read-back that
// differs is an error with reason "read_back". After any error the state of the file behind
// `offset` is unknown and the caller must not append to it any more.
Result<void> commit_bytes(File& file, std::span<const std::byte> bytes, std::uint64_t offset,
                          CommitMode mode);

// A queue in front of one log. `commit` is given the items of several callers, in the order in
// which they came, by one of the waiting threads and never by two at a time: it encodes them,
// writes them (commit_bytes) and notes in each item what its caller wants to know. It may rotate
// segments and write markers as its format asks for.
//
// Callers whom a batch has served come back at once, as a rule, and would miss the batch that the
// first of them begins: it waits for them, for half the time that the last commit took at most.
//
// If it fails, every caller of that batch gets its error, and the queue is poisoned: whoever comes
// later, or already waits, gets ErrorCode::poisoned.
template <class Item>
class GroupCommit {
 public:
  using Commit = std::function<Result<void>(std::span<Item* const> batch)>;

  explicit GroupCommit(Commit commit, std::size_t max_batch_items = 4096)
      : commit_(std::move(commit)), max_batch_items_(max_batch_items) {}
  GroupCommit(const GroupCommit&) = delete;
  GroupCommit& operator=(const GroupCommit&) = delete;

  // Returns when the item is committed. It belongs to the queue until then.
  Result<void> submit(Item& item) { return submit(std::span(&item, 1)); }

  // The same for several items of one caller, which stay together: one batch, one after the other.
  // No items: nothing happens.
  Result<void> submit(std::span<Item> items) {
    if (items.empty()) {
      return {};
    }
    Waiter self{items, {}, {}, false};
    std::unique_lock lock(mutex_);
    if (poisoned_) {
      return refusal();
    }
    waiters_.push_back(&self);
    if (waiters_.size() == expected_) {
      gathered_.notify_one();
    }
    self.wake.wait(lock, [&] { return self.done || (waiters_.front() == &self && !committing_); });
    if (self.done) {
      return std::move(self.result);
    }
    lead(lock);
    return std::move(self.result);
  }

  bool poisoned() const {
    const std::lock_guard lock(mutex_);
    return poisoned_;
  }

 private:
  struct Waiter {
    std::span<Item> items;
    std::condition_variable wake;
    Result<void> result;
    bool done = false;
  };

  static std::unexpected<Error> refusal() {
    return fail(ErrorCode::poisoned, "poisoned",
                "an earlier append to this log failed; reopen and recover");
  }

  // Commits what waits at the front of the queue, the caller's items first.
  void lead(std::unique_lock<std::mutex>& lock) {
    committing_ = true;
    if (waiters_.size() < expected_) {
      gathered_.wait_for(lock, std::min(last_commit_ / 2, k_longest_wait),
                         [&] { return waiters_.size() >= expected_; });
    }
    std::vector<Item*> batch;
    std::size_t taken = 0;
    for (Waiter* waiter : waiters_) {
      if (taken > 0 && batch.size() + waiter->items.size() > max_batch_items_) {
        break;
      }
      for (Item& item : waiter->items) {
        batch.push_back(&item);
      }
      ++taken;
    }
    lock.unlock();
    const auto begun = std::chrono::steady_clock::now();
    Result<void> outcome = commit_(batch);
    const auto took = std::chrono::steady_clock::now() - begun;
    lock.lock();
    committing_ = false;
    last_commit_ = took;
    // Whoever has come meanwhile is there already when the next batch begins.
    expected_ = waiters_.size();
    finish(taken, outcome);
    if (!outcome) {
      poisoned_ = true;
      finish(waiters_.size(), refusal());
    }
    if (!waiters_.empty()) {
      waiters_.front()->wake.notify_one();  // the next to lead
    }
  }

  // Gives the first `count` waiters their result. A waiter may be gone once the lock is released.
  void finish(std::size_t count, const Result<void>& outcome) {
    for (; count > 0; --count) {
      Waiter* waiter = waiters_.front();
      waiters_.pop_front();
      waiter->result = outcome;
      waiter->done = true;
      waiter->wake.notify_one();
    }
  }

  static constexpr std::chrono::nanoseconds k_longest_wait = std::chrono::milliseconds(5);

  Commit commit_;
  std::size_t max_batch_items_;
  mutable std::mutex mutex_;
  std::deque<Waiter*> waiters_;
  std::size_t expected_ = 0;          // callers that the last batch served or kept waiting
  std::condition_variable gathered_;  // so many are there
  std::chrono::nanoseconds last_commit_{0};
  bool committing_ = false;
  bool poisoned_ = false;
};

}  // namespace varve::io
