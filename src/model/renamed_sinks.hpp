// SPDX-License-Identifier: MIT OR Apache-2.0
// Sinks that rename the file of what goes through: for a file that is explained by itself.
#pragma once

#include <string>
#include <utility>

#include "varve/store.hpp"

namespace varve::model {

class RenamedRows final : public ExplainSink {
 public:
  // `next` outlives the sink.
  RenamedRows(ExplainSink& next, std::string file) : next_(next), file_(std::move(file)) {}
  bool add(ExplainRow row) override {
    row.file = file_;
    return next_.add(std::move(row));
  }

 private:
  ExplainSink& next_;
  std::string file_;
};

class RenamedFindings final : public FindingSink {
 public:
  RenamedFindings(FindingSink& next, std::string file) : next_(next), file_(std::move(file)) {}
  void add(Finding finding) override {
    finding.file = file_;
    next_.add(std::move(finding));
  }

 private:
  FindingSink& next_;
  std::string file_;
};

}  // namespace varve::model
