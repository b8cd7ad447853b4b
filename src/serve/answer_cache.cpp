// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/answer_cache.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "serve/explorer_answer.hpp"

namespace varve::serve {

namespace {

std::size_t size_of(const HttpResponse& response) {
  std::size_t bytes = 0;
  for (const auto& part : response.body) {
    if (const auto* text = std::get_if<std::string>(&part)) {
      bytes += text->size();
    }
  }
  return bytes;
}

}  // namespace

AnswerCache::AnswerCache(Limits limits) : limits_(limits) {
  for (unsigned i = 0; i < std::max(1U, limits_.threads); ++i) {
    threads_.emplace_back([this] { run(); });
  }
}

AnswerCache::~AnswerCache() {
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
    for (const auto& entry : working_) {
      entry->sign->raise();
    }
    queue_.clear();
  }
  queued_.notify_all();
  threads_.clear();
}

void AnswerCache::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    queued_.wait(lock, [&] { return closing_ || !queue_.empty(); });
    if (closing_) {
      return;
    }
    const std::shared_ptr<Entry> entry = std::move(queue_.front());
    queue_.pop_front();
    working_.push_back(entry);
    Work work = std::move(entry->work);
    lock.unlock();
    HttpResponse response;
    try {
      response = work(entry->sign);
    } catch (const std::exception& e) {
      // Memory that ran out is told like any other limit; the server lives on.
      response = failed_answer(fail(ErrorCode::limit, "memory", e.what()).error());
    }
    work = nullptr;
    lock.lock();
    std::erase(working_, entry);
    entry->response = std::move(response);
    entry->bytes = size_of(entry->response);
    entry->done = true;
    kept_bytes_ += by_key_.contains(entry->key) ? entry->bytes : 0;
    drop_old();
    done_.notify_all();
  }
}

HttpResponse AnswerCache::answer(const std::string& key, const Work& work) {
  std::unique_lock lock(mutex_);
  call_off_forgotten();
  const std::shared_ptr<Entry> entry = entry_of(key, work);
  if (entry == nullptr) {
    return refused_answer(503, "busy", "too many answers are being worked out; ask again");
  }
  done_.wait_for(lock, limits_.wait, [&] { return entry->done; });
  entry->asked = std::chrono::steady_clock::now();
  if (!entry->done) {
    return pending_answer();
  }
  if (entry->response.status != 200) {
    const auto found = by_key_.find(key);
    if (found != by_key_.end() && *found->second == entry) {
      drop(found->second);
    }
  }
  return entry->response;
}

std::shared_ptr<AnswerCache::Entry> AnswerCache::entry_of(const std::string& key,
                                                          const Work& work) {
  const auto found = by_key_.find(key);
  if (found != by_key_.end()) {
    entries_.splice(entries_.begin(), entries_, found->second);
    return entries_.front();
  }
  if (closing_ || queue_.size() >= limits_.waiting) {
    return nullptr;
  }
  auto entry = std::make_shared<Entry>();
  entry->key = key;
  entry->work = work;
  entry->asked = std::chrono::steady_clock::now();
  entries_.push_front(entry);
  by_key_.emplace(key, entries_.begin());
  queue_.push_back(entry);
  queued_.notify_one();
  return entry;
}

// Whoever asked has gone away; a later question begins anew.
void AnswerCache::call_off_forgotten() {
  const auto limit = std::chrono::steady_clock::now() - limits_.forget;
  for (auto at = entries_.begin(); at != entries_.end();) {
    const auto place = at++;
    if (!(*place)->done && (*place)->asked < limit) {
      (*place)->sign->raise();
      std::erase(queue_, *place);
      drop(place);
    }
  }
}

void AnswerCache::drop_old() {
  std::size_t kept = 0;
  for (const auto& entry : entries_) {
    kept += entry->done ? 1 : 0;
  }
  for (auto at = entries_.end();
       at != entries_.begin() && (kept > limits_.kept || kept_bytes_ > limits_.kept_bytes);) {
    --at;
    if ((*at)->done) {
      const auto place = at++;
      drop(place);
      --kept;
    }
  }
}

void AnswerCache::drop(Place place) {
  kept_bytes_ -= (*place)->done ? (*place)->bytes : 0;
  by_key_.erase((*place)->key);
  entries_.erase(place);
}

}  // namespace varve::serve
