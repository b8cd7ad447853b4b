// SPDX-License-Identifier: MIT OR Apache-2.0
// Recovery of a v1 store under its lock (section 12): Q0 to Q3. Whatever it meets, it changes
// nothing on disk.
#pragma once

#include <expected>
#include <vector>

#include "tay/job_table.hpp"
#include "tay/log_pass.hpp"
#include "tay/ownership.hpp"
#include "varve/tay_options.hpp"

namespace varve::tay {

// What the physical pass (Q2) learned: every fact that activation must find again.
struct PhysicalFacts {
  Listing listing;
  Id store_id{};
  std::vector<Segment> segments;
  LogTotals totals;

  std::uint64_t segment_bytes() const;
  bool highest_sealed() const { return segments.back().sealed; }
  // Nothing can ever be appended again (section 8).
  bool exhausted() const;
};

struct RecoveryOptions {
  Budgets budgets;
  unsigned threads = 1;
  bool semantic = true;           // replay; else the physical pass alone
  bool keep_definitions = false;  // in the candidate's memory
  io::Environment* environment = nullptr;
};

// The private result of Q0 to Q3, still holding the lock.
struct Candidate {
  Ownership owner;
  PhysicalFacts facts;
  JobTable jobs;
  std::int64_t recovered_at_us = 0;
};

// A clock that refuses once a number of milliseconds has passed.
class Deadline {
 public:
  Deadline(io::Environment& environment, std::uint64_t limit_ms, const char* word);
  std::optional<Refusal> check() const;

 private:
  io::Environment& environment_;
  std::int64_t end_us_;
  const char* word_;
};

// Q2: everything, physically. `deadline` may be null.
std::expected<PhysicalFacts, Refusal> physical_pass(Ownership& owner, const Budgets& budgets,
                                                    unsigned threads, const Deadline* deadline);

// Q0 to Q3.
std::expected<Candidate, Refusal> recover(io::FileSystem& files, const std::string& path,
                                          const RecoveryOptions& options);
// The same for an owner that holds the lock already.
std::expected<Candidate, Refusal> recover(Ownership owner, const RecoveryOptions& options);

// Q5's comparison: `changed_view` unless both looks saw the same.
std::optional<Refusal> compare_facts(const PhysicalFacts& before, const PhysicalFacts& after);

}  // namespace varve::tay
