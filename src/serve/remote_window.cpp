// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/remote_window.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace varve::serve {

namespace {

constexpr std::uint64_t k_first_window_bytes = std::uint64_t{256} << 10;
constexpr std::uint64_t k_largest_window_bytes = std::uint64_t{8} << 20;
// A reader that went on so often goes through the file.
constexpr unsigned k_sequential = 2;
constexpr unsigned k_windows_ahead = 2;
// What a file's cache may hold: the windows ahead, the one that is read, and the one before it, in
// which another thread may not be done.
constexpr std::uint64_t k_most_held_bytes = (k_windows_ahead + 2) * k_largest_window_bytes;

}  // namespace

FetchPool::~FetchPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  ready_.notify_all();
}

void FetchPool::add(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    if (threads_.size() < wanted_threads_) {
      threads_.emplace_back([this] { run(); });
    }
  }
  ready_.notify_one();
}

void FetchPool::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ready_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
    if (stopping_) {
      return;
    }
    const std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
    lock.lock();
  }
}

WindowCache::WindowCache(std::shared_ptr<RemoteArchive> archive, FetchPool& pool,
                         std::string segment, RangeAnswer first)
    : archive_(std::move(archive)),
      pool_(pool),
      segment_(std::move(segment)),
      generation_(std::move(first.generation)),
      first_bytes_(std::move(first.bytes)) {}

Result<std::size_t> WindowCache::read_at(std::span<std::byte> buffer, std::uint64_t offset) {
  std::size_t done = 0;
  while (done < buffer.size() && offset + done < generation_.size_bytes) {
    const std::uint64_t at = offset + done;
    const auto copy = [&](const std::string& from, std::uint64_t from_offset) {
      const std::uint64_t skip = at - from_offset;
      const auto n = std::min<std::uint64_t>(from.size() - skip, buffer.size() - done);
      std::memcpy(buffer.data() + done, from.data() + skip, n);
      done += n;
    };
    if (at < first_bytes_.size()) {
      copy(first_bytes_, 0);
      continue;
    }
    VARVE_ASSIGN(const WindowPtr window, window_at(at, buffer.size() - done));
    copy(window->bytes, window->offset);
  }
  return done;
}

WindowCache::WindowPtr WindowCache::find(std::uint64_t offset) const {
  auto behind = windows_.upper_bound(offset);
  if (behind == windows_.begin()) {
    return nullptr;
  }
  const WindowPtr& window = std::prev(behind)->second;
  return offset < window->end() ? window : nullptr;
}

Result<WindowCache::WindowPtr> WindowCache::window_at(std::uint64_t offset,
                                                      std::uint64_t wanted_bytes) {
  std::unique_lock lock(mutex_);
  WindowPtr window = find(offset);
  if (window == nullptr) {
    window = begin_window(offset, wanted_bytes);
    lock.unlock();
    fetch(window);
    lock.lock();
  }
  window->used = ++clock_;
  read_ahead_of(window);
  arrived_.wait(lock, [&] { return window->done; });
  if (window->error) {
    return std::unexpected(*window->error);
  }
  return window;
}

// Under the lock.
WindowCache::WindowPtr WindowCache::begin_window(std::uint64_t offset, std::uint64_t wanted_bytes) {
  auto window = std::make_shared<Window>();
  window->offset = offset;
  window->used = ++clock_;
  const WindowPtr before = offset == 0 ? nullptr : find(offset - 1);
  window->in_a_row = before != nullptr ? before->in_a_row + 1 : 0;
  std::uint64_t length =
      std::max(before != nullptr ? 2 * before->length : k_first_window_bytes, wanted_bytes);
  length = std::min({length, k_largest_window_bytes, generation_.size_bytes - offset});
  const auto next = windows_.lower_bound(offset);
  if (next != windows_.end()) {
    length = std::min(length, next->first - offset);
  }
  window->length = length;
  windows_[offset] = window;
  make_room();
  return window;
}

void WindowCache::fetch(const WindowPtr& window) {
  Result<std::string> bytes =
      closed_ ? Result<std::string>(fail(ErrorCode::io, "cancelled", "the file was closed"))
              : archive_->range(segment_, generation_, window->offset, window->length, &closed_);
  {
    const std::lock_guard lock(mutex_);
    if (bytes) {
      window->bytes = *std::move(bytes);
    } else {
      window->error = std::move(bytes).error();
      const auto mine = windows_.find(window->offset);
      if (mine != windows_.end() && mine->second == window) {
        windows_.erase(mine);  // whoever asks again makes another attempt
      }
    }
    window->done = true;
  }
  arrived_.notify_all();
}

// Under the lock.
void WindowCache::read_ahead_of(const WindowPtr& window) {
  WindowPtr last = window;
  for (unsigned i = 0; i < k_windows_ahead && window->in_a_row >= k_sequential; ++i) {
    if (last->end() >= generation_.size_bytes) {
      return;
    }
    WindowPtr next = find(last->end());
    if (next == nullptr) {
      next = begin_window(last->end(), 0);
      pool_.add([self = shared_from_this(), next] { self->fetch(next); });
    }
    last = next;
  }
}

// Under the lock: forgets the windows that were used longest ago.
void WindowCache::make_room() {
  std::uint64_t held = 0;
  for (const auto& [offset, window] : windows_) {
    held += window->length;
  }
  while (held > k_most_held_bytes) {
    auto oldest = windows_.end();
    for (auto it = windows_.begin(); it != windows_.end(); ++it) {
      if (it->second->done &&
          (oldest == windows_.end() || it->second->used < oldest->second->used)) {
        oldest = it;
      }
    }
    if (oldest == windows_.end()) {
      return;
    }
    held -= oldest->second->length;
    windows_.erase(oldest);
  }
}

}  // namespace varve::serve
