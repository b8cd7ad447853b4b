// SPDX-License-Identifier: MIT OR Apache-2.0
// Which jobs are to run next, and which wait for their time (section 15, "Order of ready jobs").
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "tay/job_table.hpp"

namespace varve::tay {

// Holds indexes into JobTable::jobs(). A job is removed before an event changes it, and added
// again behind that.
class ReadyIndex {
 public:
  void add(const Job& job, std::uint32_t index);
  void remove(const Job& job, std::uint32_t index);

  // The first available job of a queue (its number in the table), however late it becomes eligible.
  std::optional<std::uint32_t> first_ready(std::uint32_t queue) const;
  // The scheduled or retryable job that becomes due first.
  std::optional<std::uint32_t> first_waiting() const;

 private:
  struct Entry {
    std::uint64_t eligible_at = 0;
    std::uint64_t order = 0;  // available_sequence; 0 while waiting
    Id id{};
    std::uint32_t index = 0;
    friend auto operator<=>(const Entry&, const Entry&) = default;
  };
  static Entry entry_of(const Job& job, std::uint32_t index) {
    return {job.eligible_at, job.available_sequence, job.id, index};
  }
  std::set<Entry>* set_of(const Job& job);

  std::vector<std::set<Entry>> ready_;  // by queue
  std::set<Entry> waiting_;
};

}  // namespace varve::tay
