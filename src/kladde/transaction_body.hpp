// SPDX-License-Identifier: MIT OR Apache-2.0
// What a Transaction holds: its records, encoded as they go into the journal.
#pragma once

#include <vector>

#include "base/bytes.hpp"
#include "kladde/record.hpp"
#include "varve/kladde_store.hpp"

namespace varve::kladde {

struct TransactionBody {
  base::Bytes bytes;
  std::vector<Record> records;
  bool broken = false;  // a record was out of bounds, and left out

  void add(Record record, base::ByteSpan payload);
};

}  // namespace varve::kladde
