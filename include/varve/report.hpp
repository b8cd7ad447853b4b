// SPDX-License-Identifier: MIT OR Apache-2.0
// The outcome of `verify`: CONTRACT section 4, schema varve.verify/1.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "varve/finding.hpp"

namespace varve {

struct Counts {
  std::uint64_t files = 0;
  std::uint64_t segments = 0;
  std::uint64_t units = 0;    // everything with a check of its own
  std::uint64_t records = 0;  // records found, whole or hurt
  std::uint64_t bytes = 0;    // bytes checked
};

struct SegmentVerdict {
  std::string name;
  Verdict verdict = Verdict::clean;
};

struct VerifyReceipt;  // varve/verify_receipt.hpp

// What a receipt of an earlier run spared this one.
struct ReceiptUse {
  std::uint64_t parts = 0;        // the receipt's
  std::uint64_t parts_taken = 0;  // those that were not read again, or not from their beginning
  std::uint64_t bytes_taken = 0;
  // Why nothing, or not all, was taken: one text a reason.
  std::vector<std::string> reasons;
};

struct VerifyReport {
  std::string path;
  std::string format;
  std::uint32_t version = 0;
  Verdict verdict = Verdict::clean;  // of the store; the format's order rules decide, see a view
  Counts counts;
  std::uint64_t intact_records = 0;
  std::uint64_t lost_records = 0;        // known to have been there and unreadable
  std::uint64_t unknown_records = 0;     // the unfinished last unit of a torn log
  std::vector<SegmentVerdict> segments;  // only for archives (stores of several segment files)
  ReceiptUse receipt_use;                // if the request had a receipt
  std::shared_ptr<const VerifyReceipt> receipt;  // if the request asked for one
};

}  // namespace varve
