// SPDX-License-Identifier: MIT OR Apache-2.0
#include "verbs/line_stream.hpp"

#include <utility>

namespace varve::cli {

namespace {

constexpr std::size_t k_most_batches = 4;

}  // namespace

class LineStream::Sink final : public BatchSink {
 public:
  explicit Sink(LineStream& stream) : stream_(stream) {}
  Result<bool> consume(Batch batch) override {
    std::string text;
    stream_.view_.render(stream_.request_.face, batch, stream_.render_, text);
    std::unique_lock lock(stream_.mutex_);
    stream_.changed_.wait(
        lock, [&] { return stream_.texts_.size() < k_most_batches || stream_.dropped_; });
    if (stream_.dropped_) {
      return false;
    }
    stream_.texts_.push_back(std::move(text));
    stream_.changed_.notify_all();
    return true;
  }

 private:
  LineStream& stream_;
};

LineStream::LineStream(StoreView& view, ScanRequest request, RenderOptions render,
                       FindingSink& findings)
    : view_(view),
      request_(std::move(request)),
      render_(std::move(render)),
      findings_(findings),
      thread_([this] { run(); }) {}

LineStream::~LineStream() {
  {
    const std::lock_guard lock(mutex_);
    dropped_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void LineStream::run() {
  Sink sink(*this);
  auto outcome = view_.scan(request_, sink, findings_);
  const std::lock_guard lock(mutex_);
  outcome_ = std::move(outcome);
  over_ = true;
  changed_.notify_all();
}

std::optional<std::string> LineStream::next() {
  while (at_ >= text_.size()) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !texts_.empty() || over_; });
    if (texts_.empty()) {
      return std::nullopt;
    }
    text_ = std::move(texts_.front());
    texts_.pop_front();
    at_ = 0;
    changed_.notify_all();
  }
  const std::size_t end = std::min(text_.find('\n', at_), text_.size());
  std::string line = text_.substr(at_, end - at_);
  at_ = end + 1;
  return line;
}

}  // namespace varve::cli
