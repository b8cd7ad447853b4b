// SPDX-License-Identifier: MIT OR Apache-2.0
// The stream between a scan, which pushes, and a consumer, who pulls: a thread and a short queue.
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "output/arrow_layout.hpp"
#include "varve/arrow.hpp"

namespace varve {

namespace {

constexpr std::size_t k_batches_ahead = 4;

// Batches in transit. The scan's side waits while it is full, the consumer's while it is empty.
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
  void end(std::optional<std::string> error) {
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
  std::optional<Batch> take(std::optional<std::string>& error) {
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
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Batch> batches_;
  std::optional<std::string> error_;
  bool ended_ = false;
  bool stopped_ = false;
};

class ScanStream {
 public:
  ScanStream(std::shared_ptr<StoreView> view, ScanRequest request,
             std::shared_ptr<FindingSink> findings, output::ArrowNode layout)
      : view_(std::move(view)),
        request_(std::move(request)),
        findings_(std::move(findings)),
        layout_(std::move(layout)),
        thread_([this] { run(); }) {}
  ScanStream(const ScanStream&) = delete;
  ScanStream& operator=(const ScanStream&) = delete;
  ~ScanStream() {
    queue_.stop();
    thread_.join();
  }

  void schema(ArrowSchema* out) const {
    output::export_arrow_schema(view_->schema(request_.face), layout_, out);
  }
  int next(ArrowArray* out) {
    std::optional<std::string> error;
    const std::optional<Batch> batch = queue_.take(error);
    if (!batch) {
      *out = {};
      if (error) {
        error_ = *error;
        return EIO;
      }
      return 0;
    }
    if (auto done = output::export_arrow_array(*batch, layout_, out); !done) {
      error_ = done.error().text();
      return EIO;
    }
    return 0;
  }
  void remember(std::string error) { error_ = std::move(error); }
  const char* error() const { return error_.empty() ? nullptr : error_.c_str(); }

 private:
  void run() {
    try {
      const auto summary = view_->scan(request_, queue_, *findings_);
      queue_.end(summary ? std::nullopt : std::optional(summary.error().text()));
    } catch (const std::exception& e) {
      queue_.end(e.what());
    }
  }

  std::shared_ptr<StoreView> view_;
  ScanRequest request_;
  std::shared_ptr<FindingSink> findings_;
  output::ArrowNode layout_;
  std::string error_;
  BatchQueue queue_;
  std::thread thread_;  // last: it uses the others
};

ScanStream& of(ArrowArrayStream* stream) { return *static_cast<ScanStream*>(stream->private_data); }

int get_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  try {
    of(stream).schema(out);
    return 0;
  } catch (const std::exception& e) {
    of(stream).remember(e.what());
    return ENOMEM;
  }
}

int get_next(ArrowArrayStream* stream, ArrowArray* out) {
  try {
    return of(stream).next(out);
  } catch (const std::exception& e) {
    of(stream).remember(e.what());
    return ENOMEM;
  }
}

const char* get_last_error(ArrowArrayStream* stream) { return of(stream).error(); }

void release_stream(ArrowArrayStream* stream) {
  const std::unique_ptr<ScanStream> owned(&of(stream));
  stream->release = nullptr;
}

}  // namespace

Result<void> export_arrow_stream(std::shared_ptr<StoreView> view, ScanRequest request,
                                 std::shared_ptr<FindingSink> findings, ArrowArrayStream* out) {
  auto layout = output::arrow_layout(view->schema(request.face), request.columns);
  if (!layout) {
    return std::unexpected(std::move(layout).error());
  }
  request.mapper = nullptr;
  auto stream = std::make_unique<ScanStream>(std::move(view), std::move(request),
                                             std::move(findings), std::move(*layout));
  *out = {get_schema, get_next, get_last_error, release_stream, stream.release()};
  return {};
}

}  // namespace varve
