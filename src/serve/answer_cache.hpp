// SPDX-License-Identifier: MIT OR Apache-2.0
// Answers that may take their time: worked out on threads of their own, waited for no longer than a
// click may last, kept for a while.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "serve/http.hpp"
#include "serve/reading_files.hpp"

namespace varve::serve {

// Thread-safe.
class AnswerCache {
 public:
  struct Limits {
    unsigned threads = 8;      // answers worked on at a time
    std::size_t waiting = 32;  // and those that wait for a thread
    std::size_t kept = 64;     // answers remembered
    std::size_t kept_bytes = 32U << 20;
    std::chrono::milliseconds wait{60};        // what a request waits for its answer
    std::chrono::milliseconds forget{15'000};  // unfinished, and nobody asked again: called off
  };
  // Makes an answer; looks at files through ReadingFiles with that sign, so that it can be called
  // off. Runs on one of the cache's threads.
  using Work = std::function<HttpResponse(std::shared_ptr<const StopSign>)>;

  explicit AnswerCache(Limits limits);
  AnswerCache() : AnswerCache(Limits{}) {}
  AnswerCache(const AnswerCache&) = delete;
  AnswerCache& operator=(const AnswerCache&) = delete;
  // Calls off what is worked on, and waits for that.
  ~AnswerCache();

  // The answer under `key`: the kept one, or what `work` makes of it if that is quick. Else 202
  // with {"pending":true}; asking again under the same key waits for the same work. 503 if too
  // much is worked on. Only answers of status 200 are kept.
  HttpResponse answer(const std::string& key, const Work& work);

 private:
  struct Entry {
    std::string key;
    Work work;
    std::shared_ptr<StopSign> sign = std::make_shared<StopSign>();
    std::chrono::steady_clock::time_point asked;
    bool done = false;
    HttpResponse response;
    std::size_t bytes = 0;
  };
  using Place = std::list<std::shared_ptr<Entry>>::iterator;

  void run();
  std::shared_ptr<Entry> entry_of(const std::string& key, const Work& work);
  void call_off_forgotten();
  void drop_old();
  void drop(Place place);

  Limits limits_;
  std::mutex mutex_;
  std::condition_variable done_;
  std::condition_variable queued_;
  std::list<std::shared_ptr<Entry>> entries_;  // the latest asked for first
  std::unordered_map<std::string, Place> by_key_;
  std::deque<std::shared_ptr<Entry>> queue_;
  std::vector<std::shared_ptr<Entry>> working_;
  std::size_t kept_bytes_ = 0;
  bool closing_ = false;
  std::vector<std::jthread> threads_;  // last: they use the others
};

}  // namespace varve::serve
