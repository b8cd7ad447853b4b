// SPDX-License-Identifier: MIT OR Apache-2.0
// The ordered worker pipeline: items are produced in order, worked on side by side, and consumed in
// order, with a bounded number in flight. With one thread everything runs inline, in the same order
// and with the same results.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace varve::base {

// The number of threads to use for a request of `threads` (0: all cores).
inline unsigned thread_count(unsigned threads) {
  return threads != 0 ? threads : std::max(1U, std::thread::hardware_concurrency());
}

// Runs a pipeline to its end on the calling thread and `threads - 1` workers.
//   produce() -> std::optional<Item>     calling thread, in order; nullopt ends the input
//   work(Item&, unsigned worker)         any thread; worker in [0, threads) tells scratch apart
//   consume(Item&) -> bool               calling thread, in order; false stops the pipeline
// At most `max_in_flight` items exist at a time. Items that were worked on but not consumed when
// the pipeline stops are destroyed.
template <class Item, class Produce, class Work, class Consume>
void run_ordered_pipeline(unsigned threads, std::size_t max_in_flight, Produce produce, Work work,
                          Consume consume) {
  threads = thread_count(threads);
  if (threads == 1) {
    while (std::optional<Item> item = produce()) {
      work(*item, 0U);
      if (!consume(*item)) {
        return;
      }
    }
    return;
  }

  struct Slot {
    Item item;
    bool taken = false;
    bool done = false;
  };
  std::mutex mutex;
  std::condition_variable work_ready;
  std::condition_variable slot_done;
  std::deque<std::unique_ptr<Slot>> slots;  // oldest first
  bool stopping = false;
  max_in_flight = std::max<std::size_t>(max_in_flight, threads);

  // Under the lock: the oldest slot that nobody works on yet.
  const auto next_free = [&]() -> Slot* {
    for (const auto& slot : slots) {
      if (!slot->taken) {
        return slot.get();
      }
    }
    return nullptr;
  };

  const auto worker_loop = [&](unsigned worker) {
    std::unique_lock lock(mutex);
    for (;;) {
      Slot* slot = nullptr;
      work_ready.wait(lock, [&] { return stopping || (slot = next_free()) != nullptr; });
      if (stopping) {
        return;
      }
      slot->taken = true;
      lock.unlock();
      work(slot->item, worker);
      lock.lock();
      slot->done = true;
      slot_done.notify_one();
    }
  };

  std::vector<std::jthread> workers;
  const auto stop = [&] {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    work_ready.notify_all();
    workers.clear();  // joins
  };
  workers.reserve(threads - 1);
  for (unsigned i = 1; i < threads; ++i) {
    workers.emplace_back(worker_loop, i);
  }

  bool input_left = true;
  for (;;) {
    // Fill the window, then consume what is ready in order, then help with the work.
    while (input_left && slots.size() < max_in_flight) {
      std::optional<Item> item = produce();
      if (!item) {
        input_left = false;
        break;
      }
      {
        const std::lock_guard lock(mutex);
        slots.push_back(std::make_unique<Slot>(Slot{std::move(*item)}));
      }
      work_ready.notify_one();
    }
    std::unique_lock lock(mutex);
    if (slots.empty()) {
      break;
    }
    if (slots.front()->done) {
      const std::unique_ptr<Slot> slot = std::move(slots.front());
      slots.pop_front();
      lock.unlock();
      if (!consume(slot->item)) {
        break;
      }
      continue;
    }
    if (Slot* slot = next_free()) {
      slot->taken = true;
      lock.unlock();
      work(slot->item, 0U);
      lock.lock();
      slot->done = true;
      continue;
    }
    slot_done.wait(lock, [&] { return slots.front()->done; });
  }
  stop();
}

}  // namespace varve::base
