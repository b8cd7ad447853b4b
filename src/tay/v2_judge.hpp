// SPDX-License-Identifier: MIT OR Apache-2.0
// What the records of an epoch add up to (section 20).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tay/job_table.hpp"
#include "tay/record.hpp"
#include "varve/tay_refusal.hpp"

namespace varve::tay {

// Applies the records of an epoch in log order (section 20's rules).
class V2Judge {
 public:
  // `base_segments`: how many of the segments are base.
  V2Judge(JobTable& jobs, const EventBudget& budget, std::size_t base_segments)
      : jobs_(jobs), budget_(budget), base_segments_(base_segments) {}

  std::optional<Refusal> judge(const RecordHeader& header, std::uint64_t offset, ByteSpan payload,
                               std::uint32_t segment);
  void gap() { certain_ = false; }
  // Behind the last record: what only the whole base can show, if no tail record called for it.
  std::optional<Refusal> finish();

 private:
  std::optional<Refusal> snapshot(std::uint64_t offset, ByteSpan payload, std::uint32_t segment);
  std::optional<Refusal> mutation(std::uint64_t offset, ByteSpan payload, std::uint32_t segment);
  std::optional<Refusal> check_base();

  JobTable& jobs_;
  const EventBudget& budget_;
  std::size_t base_segments_;
  bool certain_ = true;
  bool base_done_ = false;
  Id previous_{};
  std::vector<std::uint64_t> base_orders_;
  std::uint64_t next_order_ = 1;
};

}  // namespace varve::tay
