// SPDX-License-Identifier: MIT OR Apache-2.0
// Reading a store that another process writes to. Readers take no lock: while a header governs, its
// world is not written to; once the next one does, its pages may be used again. So what was read
// counts if the governing header is still the same afterwards, and else is read anew.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "kladde/reader.hpp"
#include "varve/batch.hpp"
#include "varve/finding.hpp"
#include "varve/scan.hpp"

namespace varve::kladde {

// Holds findings back until what they are about is known to have stood still.
class HeldFindings final : public FindingSink {
 public:
  explicit HeldFindings(FindingSink& next) : next_(next) {}
  void add(Finding finding) override {
    if (!released_ && held_.size() < k_most_held) {
      held_.push_back(std::move(finding));
      return;
    }
    release();
    next_.add(std::move(finding));
  }
  // Passes them on; those that follow are passed on at once.
  void release() {
    for (Finding& finding : std::exchange(held_, {})) {
      next_.add(std::move(finding));
    }
    released_ = true;
  }
  void forget() { held_.clear(); }
  bool released() const { return released_; }

 private:
  static constexpr std::size_t k_most_held = 20'000;
  FindingSink& next_;
  std::vector<Finding> held_;
  bool released_ = false;
};

using Epoch = std::optional<std::uint64_t>;  // nullopt: no valid header

// Lets a batch pass only while the header is the one that the scan began with.
class SettledSink final : public BatchSink {
 public:
  SettledSink(const io::File& file, Epoch epoch, HeldFindings& findings, BatchSink& next)
      : file_(file), epoch_(epoch), findings_(findings), next_(next) {}
  Result<bool> consume(Batch batch) override {
    VARVE_ASSIGN(const Epoch now, governing_epoch(file_));
    if (now != epoch_) {
      return changed_while_read(file_, 0);
    }
    findings_.release();
    return next_.consume(std::move(batch));
  }

 private:
  const io::File& file_;
  Epoch epoch_;
  HeldFindings& findings_;
  BatchSink& next_;
};

// Runs attempt(epoch, findings), which returns a Result, until the header stood still meanwhile: at
// most five times, or once if it let something out. Then the error is ErrorCode::locked, unless
// holds(result) says that what was let out is right all the same.
template <class Attempt, class Holds>
auto read_settled(const io::File& file, FindingSink& out, Attempt attempt, Holds holds)
    -> decltype(attempt(Epoch(), std::declval<HeldFindings&>())) {
  constexpr unsigned k_attempts = 5;
  HeldFindings findings(out);
  for (unsigned tries = 1;; ++tries) {
    VARVE_ASSIGN(const Epoch before, governing_epoch(file));
    auto result = attempt(before, findings);
    VARVE_ASSIGN(const Epoch after, governing_epoch(file));
    if (before == after || (findings.released() && result && holds(*result))) {
      findings.release();
      return result;
    }
    if (findings.released() || tries == k_attempts) {
      return changed_while_read(file, 0);
    }
    findings.forget();
  }
}
template <class Attempt>
auto read_settled(const io::File& file, FindingSink& out, Attempt attempt) {
  return read_settled(file, out, attempt, [](const auto&) { return false; });
}

}  // namespace varve::kladde
