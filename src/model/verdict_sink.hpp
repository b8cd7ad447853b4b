// SPDX-License-Identifier: MIT OR Apache-2.0
// A sink between a checker and the caller's, for the verdict of what went through.
#pragma once

#include <utility>

#include "varve/finding.hpp"

namespace varve::model {

// Passes findings on and keeps the worst verdict of the errors among them.
class VerdictSink final : public FindingSink {
 public:
  // `next` outlives the sink. A pointer, so that a sink over a sink is never taken for a copy.
  explicit VerdictSink(FindingSink* next) : next_(*next) {}
  VerdictSink(const VerdictSink&) = delete;
  VerdictSink& operator=(const VerdictSink&) = delete;
  void add(Finding finding) override {
    ++count_;
    if (finding.severity == Severity::error) {
      worsen(finding.verdict);
    }
    next_.add(std::move(finding));
  }
  // Where it is not a finding that says so.
  void worsen(Verdict verdict) { verdict_ = worse(verdict_, verdict); }
  Verdict verdict() const { return verdict_; }
  std::uint64_t count() const { return count_; }  // findings of any severity

 private:
  FindingSink& next_;
  Verdict verdict_ = Verdict::clean;
  std::uint64_t count_ = 0;
};

}  // namespace varve::model
