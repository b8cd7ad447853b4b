// SPDX-License-Identifier: MIT OR Apache-2.0
#include "query/row_stream.hpp"

#include <exception>
#include <utility>

namespace varve::query {

namespace {

// Batches are large, findings small and many.
constexpr std::size_t k_batches_ahead = 4;
constexpr std::size_t k_items_ahead = 1024;

}  // namespace

// The scan's side of the queue.
class RowStream::Pusher final : public BatchSink, public FindingSink {
 public:
  explicit Pusher(RowStream& stream) : stream_(stream) {}

  Result<bool> consume(Batch batch) override { return push(std::move(batch), k_batches_ahead); }
  void add(Finding finding) override { push(std::move(finding), k_items_ahead); }
  // Never waits: it is the last.
  void end(Item last) {
    const std::scoped_lock lock(stream_.mutex_);
    stream_.items_.push_back(std::move(last));
    stream_.changed_.notify_all();
  }

 private:
  // False if nobody wants more.
  bool push(Item item, std::size_t room) {
    std::unique_lock lock(stream_.mutex_);
    stream_.changed_.wait(lock, [&] { return stream_.stopped_ || stream_.items_.size() < room; });
    if (stream_.stopped_) {
      return false;
    }
    stream_.items_.push_back(std::move(item));
    stream_.changed_.notify_all();
    return true;
  }

  RowStream& stream_;
};

RowStream::RowStream(Work work) {
  thread_ = std::thread([this, work = std::move(work)] {
    Pusher pusher(*this);
    try {
      auto summary = work(pusher, pusher);
      if (summary) {
        pusher.end(*summary);
      } else {
        pusher.end(std::move(summary).error());
      }
    } catch (const std::exception& e) {
      Error error;
      error.code = ErrorCode::limit;
      error.reason = "exception";
      error.message = e.what();
      pusher.end(std::move(error));
    }
  });
}

RowStream::~RowStream() {
  {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

RowStream::Item RowStream::take() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !items_.empty(); });
  Item item = std::move(items_.front());
  items_.pop_front();
  changed_.notify_all();
  return item;
}

Result<std::optional<Batch>> RowStream::next(FindingSink& findings) {
  while (!ended_) {
    Item item = take();
    if (auto* batch = std::get_if<Batch>(&item)) {
      return std::move(*batch);
    }
    if (auto* finding = std::get_if<Finding>(&item)) {
      findings.add(std::move(*finding));
      continue;
    }
    ended_ = true;
    if (auto* error = std::get_if<Error>(&item)) {
      return std::unexpected(std::move(*error));
    }
    verdict_ = std::get<ScanSummary>(item).verdict;
  }
  return std::nullopt;
}

}  // namespace varve::query
