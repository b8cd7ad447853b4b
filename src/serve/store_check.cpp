// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/store_check.hpp"

#include <chrono>
#include <exception>
#include <utility>

namespace varve::serve {

namespace {

// 32 MiB of index; a store of a gigabyte rarely has so many units.
constexpr std::size_t k_most_units = 2'000'000;

// Tells how far the rows are, and ends the walk when the check is called off.
class ProgressSink final : public ExplainSink {
 public:
  ProgressSink(ExplainSink& next, const StopSign& sign, std::function<void(std::uint64_t)> progress)
      : next_(next), sign_(sign), progress_(std::move(progress)) {}

  bool add(ExplainRow row) override {
    if (row.depth == 0) {
      done_ += row.length;
      progress_(done_);
    }
    return !sign_.raised() && next_.add(std::move(row));
  }

 private:
  ExplainSink& next_;
  const StopSign& sign_;
  std::function<void(std::uint64_t)> progress_;
  std::uint64_t done_ = 0;
};

}  // namespace

StoreCheck::StoreCheck(io::FileSystem& files, const Format& format, std::string path,
                       std::string generation, unsigned threads)
    : files_(files, sign_), target_{&files_, &format, std::move(path), {}} {
  progress_.running = true;
  progress_.phase = "verify";
  target_.options.threads = threads;
  thread_ = std::jthread([this, generation = std::move(generation), threads]() mutable {
    run(std::move(generation), threads);
  });
}

StoreCheck::~StoreCheck() { sign_->raise(); }

StoreCheck::Progress StoreCheck::progress() const {
  const std::scoped_lock lock(mutex_);
  return progress_;
}

std::shared_ptr<const CheckResult> StoreCheck::result() const {
  const std::scoped_lock lock(mutex_);
  return result_;
}

void StoreCheck::tell(const char* phase, std::uint64_t done, std::uint64_t total) {
  const std::scoped_lock lock(mutex_);
  progress_.phase = phase;
  progress_.done_bytes = done;
  progress_.total_bytes = total;
}

void StoreCheck::run(std::string generation, unsigned threads) {
  auto result = std::make_shared<CheckResult>();
  result->generation = std::move(generation);
  const auto begin = std::chrono::steady_clock::now();
  try {
    verify(*result, threads);
    result->elapsed_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() + 1e-6;
    index_units(*result);
  } catch (const std::exception& e) {
    result->error = fail(ErrorCode::limit, "memory", e.what()).error();
    result->report.verdict = Verdict::unknown;
  }
  const std::scoped_lock lock(mutex_);
  progress_.running = false;
  if (!sign_->raised()) {
    result_ = std::move(result);
  }
}

void StoreCheck::verify(CheckResult& result, unsigned threads) {
  VerifyRequest request;
  request.threads = threads;
  request.progress = [this](std::uint64_t done, std::uint64_t total) {
    tell("verify", done, total);
  };
  const auto view = target_.format->open(files_, target_.path, target_.options);
  auto report = view ? (*view)->verify(request, result.findings)
                     : Result<VerifyReport>(std::unexpected(view.error()));
  if (report) {
    result.report = *std::move(report);
    return;
  }
  result.error = report.error();
  result.report.path = target_.path;
  result.report.format = target_.format->name();
  result.report.verdict = to_finding(report.error()).verdict;
}

void StoreCheck::index_units(CheckResult& result) {
  const std::uint64_t total = progress().total_bytes;
  output::UnitCollector units(k_most_units);
  ProgressSink rows(units, *sign_, [&](std::uint64_t done) { tell("units", done, total); });
  // What is wrong was found above; here it is only where things lie.
  FindingList findings(result.error ? 10'000 : 0);
  output::StoreExplainer explainer(target_, rows, findings);
  const auto verdict = explainer.run(ExplainRequest{});
  if (result.error) {
    result.findings = std::move(findings);
    if (verdict) {
      result.report.verdict = worse(result.report.verdict, *verdict);
    }
  }
  result.units = units.finish(result.findings.findings());
}

}  // namespace varve::serve
