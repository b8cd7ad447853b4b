// SPDX-License-Identifier: MIT OR Apache-2.0
// The bytes of one generation of a remote segment, as far as somebody has asked for them: a bounded
// cache of stretches ("windows"). What is read here and there costs small requests; what is read in
// order comes in ever larger windows, the next ones already on their way.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "serve/remote_archive.hpp"

namespace varve::serve {

// A few threads that fetch ahead.
class FetchPool {
 public:
  explicit FetchPool(unsigned threads) : wanted_threads_(threads) {}
  FetchPool(const FetchPool&) = delete;
  FetchPool& operator=(const FetchPool&) = delete;
  ~FetchPool();
  void add(std::function<void()> job);

 private:
  void run();
  unsigned wanted_threads_;
  std::mutex mutex_;
  std::condition_variable ready_;
  bool stopping_ = false;
  std::deque<std::function<void()>> jobs_;
  std::vector<std::jthread> threads_;  // started with the first job
};

// Thread-safe. Kept by shared pointers, since fetches may outlive the reader that asked for them;
// the pool outlives all of them.
class WindowCache : public std::enable_shared_from_this<WindowCache> {
 public:
  // `first`: what a probe has brought: the generation and its first bytes, or all of them.
  WindowCache(std::shared_ptr<RemoteArchive> archive, FetchPool& pool, std::string segment,
              RangeAnswer first);

  const Generation& generation() const { return generation_; }
  const std::string& first_bytes() const { return first_bytes_; }
  // Reads up to buffer.size() bytes at `offset`; fewer only at the end of the file.
  Result<std::size_t> read_at(std::span<std::byte> buffer, std::uint64_t offset);
  // Nobody reads any more: fetches that are on their way are given up.
  void close() { closed_ = true; }

 private:
  struct Window {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    bool done = false;
    std::string bytes;
    std::optional<Error> error;
    std::uint64_t used = 0;  // by the clock below
    unsigned in_a_row = 0;   // windows right before it, each read on into the next

    std::uint64_t end() const { return offset + length; }
  };
  using WindowPtr = std::shared_ptr<Window>;

  Result<WindowPtr> window_at(std::uint64_t offset, std::uint64_t wanted_bytes);
  WindowPtr find(std::uint64_t offset) const;
  WindowPtr begin_window(std::uint64_t offset, std::uint64_t wanted_bytes);
  void fetch(const WindowPtr& window);
  void read_ahead_of(const WindowPtr& window);
  void make_room();

  std::shared_ptr<RemoteArchive> archive_;
  FetchPool& pool_;
  std::string segment_;
  Generation generation_;
  std::string first_bytes_;
  std::atomic<bool> closed_ = false;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<std::uint64_t, WindowPtr> windows_;  // by offset; they do not overlap
  std::uint64_t clock_ = 0;
};

}  // namespace varve::serve
