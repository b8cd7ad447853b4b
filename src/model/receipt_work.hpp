// SPDX-License-Identifier: MIT OR Apache-2.0
// What every format's incremental verify shares: whether the receipt is of this store, what it
// spared, and the new receipt.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "varve/store.hpp"
#include "varve/verify_receipt.hpp"

namespace varve::model {

// Bytes at either end of what was proven that a later run reads again.
inline constexpr std::uint64_t k_edge_bytes = 4096;

// SHA-256, in hexadecimal, of the first and the last k_edge_bytes of [0, end) of a file: cheap
// evidence that these are still the bytes that were proven. Empty if the file is shorter.
Result<std::string> edge_digest(const io::File& file, std::uint64_t end);

class ReceiptWork {
 public:
  // Judges the request's receipt, if there is one: another format, store, generation or other
  // options make it worthless, which is told as a note. `store`: see VerifyReceipt::store. All
  // outlive the object. A quick run neither takes nor makes receipts.
  ReceiptWork(const VerifyRequest& request, std::string store,
              std::map<std::string, std::string> options, VerifyReport& report,
              FindingSink& findings);

  bool has_since() const { return since_ != nullptr; }
  bool making() const { return made_ != nullptr; }
  // What the receipt proves of a file, as long as nothing speaks against it; nullptr if nothing.
  const VerifyReceipt::Part* part(std::string_view file) const;
  // The part of a file that is still the one that was proven, by identity and edges; nullptr if
  // there is none, which is told. `file` was opened from `shown`.
  Result<const VerifyReceipt::Part*> standing_part(const io::File& file, const std::string& shown);
  // The receipt is of no use: everything is to be checked.
  void refuse(const std::string& reason);
  // A part does not stand any more: this file is to be checked.
  void mismatch(const std::string& file, const std::string& reason);
  // `bytes` of a part were not read.
  void taken(std::uint64_t bytes);
  // Notes a part for the new receipt, with its identity and edges as they are now. The caller has
  // filled in proven_bytes, closed and numbers.
  Result<void> keep(const io::File& file, VerifyReceipt::Part part);
  // The same where the caller has its own proof.
  void keep_as_is(VerifyReceipt::Part part);
  // Puts the new receipt into the report. Behind the verdict.
  void finish();

 private:
  VerifyReport& report_;
  FindingSink& findings_;
  const VerifyReceipt* since_ = nullptr;
  std::shared_ptr<VerifyReceipt> made_;
};

}  // namespace varve::model
