// SPDX-License-Identifier: MIT OR Apache-2.0
// Turns the records of one run into a batch of log rows.
#pragma once

#include "tay/log_scan.hpp"
#include "tay/rows.hpp"
#include "tay/walker.hpp"

namespace varve::tay {

// Whether a record's payload means something, by the store's version: v1 events, or the snapshots
// and mutations of Store v2.
struct RecordMeaning {
  int version = 1;
  EventBudget budget;

  // Fills in job and time of what decodes; false if it does not.
  bool read(const RecordHeader& header, ByteSpan payload, Event& out) const;
  // The event's name, or nothing if the store's version has none for this type.
  std::string_view name(std::uint8_t type) const;
};

class LogCollector final : public RecordCollector {
 public:
  // Pointers are borrowed. `row_limit`: rows to take at most.
  LogCollector(const LogFilter& filter, const RecordMeaning& meaning, std::uint64_t segment_id,
               const std::vector<bool>& wanted, std::uint64_t row_limit, const BatchMapper* mapper);

  bool record(const RecordHeader& header, std::uint64_t offset, ByteSpan payload) override;
  void finish() override;

  Batch& batch() { return batch_; }

 private:
  void add_row(const RecordHeader& header, std::uint64_t offset, ByteSpan payload,
               const Event* event);

  const LogFilter& filter_;
  const RecordMeaning& meaning_;
  std::uint64_t segment_id_;
  const std::vector<bool>& wanted_;  // columns to fill
  bool event_wanted_;
  std::uint64_t row_limit_;
  const BatchMapper* mapper_;
  BatchBuilder builder_;
  Batch batch_;
};

// Which columns of a schema a request asks for.
std::vector<bool> wanted_columns(const Schema& schema, const std::vector<std::string>& names);
// Marks the others as absent.
void drop_unwanted(Batch& batch, const std::vector<bool>& wanted);

}  // namespace varve::tay
