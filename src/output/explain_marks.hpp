// SPDX-License-Identifier: MIT OR Apache-2.0
// Between a view that explains and what prints: finishes rows with what needs no format.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "varve/store.hpp"

namespace varve::output {

// Gives each row its class where the format left it open, and marks the zero and low-entropy runs
// of stretches that no field covers, by reading them from the store's files.
class MarkingSink final : public ExplainSink {
 public:
  // Bytes of uncovered stretches that are looked at in one run, whatever the store's size.
  static constexpr std::uint64_t k_budget_bytes = std::uint64_t{256} << 20;

  // All outlive the sink.
  MarkingSink(io::FileSystem& files, std::string store, ExplainSink& next)
      : files_(files), store_(std::move(store)), next_(next) {}

  bool add(ExplainRow row) override;

  // The files that had rows, relative to the store.
  const std::set<std::string>& seen() const { return seen_; }
  // Rows that come now are of this file by itself, which calls itself "".
  void use_member(std::string file) { member_ = std::move(file); }

 private:
  void mark(ExplainRow& row);

  io::FileSystem& files_;
  std::string store_;
  ExplainSink& next_;
  std::set<std::string> seen_;
  std::string member_;
  std::string open_name_;
  std::unique_ptr<io::File> open_file_;  // of open_name_; null if it cannot be read
  std::uint64_t budget_bytes_ = k_budget_bytes;
};

std::string_view to_text(ExplainRow::Class sort);
std::string_view to_text(ByteMark::Kind kind);

// `store` and what lies in it under `file` ("" for the store itself).
std::string path_in_store(const std::string& store, const std::string& file);

}  // namespace varve::output
