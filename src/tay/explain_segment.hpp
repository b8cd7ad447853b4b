// SPDX-License-Identifier: MIT OR Apache-2.0
// `explain` of one segment: its units from the runs that a log pass proved, what lies between them,
// and whole records in what no unit accounts for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tay/explain_rows.hpp"
#include "tay/log_collector.hpp"
#include "tay/log_pass.hpp"
#include "tay/window.hpp"
#include "varve/tay_refusal.hpp"

namespace varve::tay {

class SegmentExplainer {
 public:
  // `refusals`: those of this segment. References are borrowed. With `only` the unit that holds
  // this byte.
  SegmentExplainer(const Segment& segment, std::string name, std::vector<Refusal> refusals,
                   const RecordMeaning& meaning, std::optional<std::uint64_t> only,
                   ExplainSink& sink)
      : segment_(segment),
        refusals_(std::move(refusals)),
        meaning_(meaning),
        only_(only),
        rows_(std::move(name), sink) {}

  Result<void> run(const io::File& file);
  bool stopped() const { return rows_.stopped(); }

 private:
  bool asked_for(std::uint64_t begin, std::uint64_t end) const {
    return !rows_.stopped() && (!only_ || (*only_ >= begin && *only_ < end));
  }
  Result<ByteSpan> at(std::uint64_t offset, std::size_t length);
  const Refusal* refusal_at(std::uint64_t offset) const;
  Result<void> header();
  Result<void> footer();
  // What lies between the last unit that was understood and the next one.
  Result<void> gap(std::uint64_t end);
  Result<void> hurt(std::uint64_t begin, std::uint64_t end);
  // Whole records in a stretch of no unit: what an older state left there.
  Result<std::vector<ByteMark>> stale_records(std::uint64_t begin, std::uint64_t end);
  Result<void> records(const io::File& file, const LogRun& run);
  void record(const RecordHeader& header, std::uint64_t offset, ByteSpan payload);
  void explain_payload(const RecordHeader& header, std::uint64_t offset, ByteSpan payload);

  const Segment& segment_;
  std::vector<Refusal> refusals_;
  const RecordMeaning& meaning_;
  std::optional<std::uint64_t> only_;
  RowWriter rows_;
  Window window_;
  Bytes bytes_;
  std::uint64_t position_ = 0;
  std::uint64_t stale_budget_bytes_ = std::uint64_t{64} << 20;  // of records that are tried
};

}  // namespace varve::tay
