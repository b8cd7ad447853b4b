// SPDX-License-Identifier: MIT OR Apache-2.0
// The receipt of `verify` for tay: which segments need not be read again, and what the next run may
// leave out.
#pragma once

#include <string>
#include <vector>

#include "model/receipt_work.hpp"
#include "tay/examine.hpp"

namespace varve::tay {

// What tells the store: its id, and the epoch of a Store v2 root; empty if STORE is not to be read.
std::string store_text(const Snapshot& snapshot);

struct Since {
  std::vector<ProvenRun> proven;  // one a segment; empty if nothing is taken
  // The receipt's run has replayed all of what is taken.
  bool replayed = true;
};

// What of the snapshot's segments is taken from the receipt. Store v2 takes nothing: its manifest
// holds digests over whole segments.
Result<Since> take_from_receipt(const Snapshot& snapshot, model::ReceiptWork& receipt);

// Whether the pass met records that the receipt knew nothing of.
bool has_new_records(const std::vector<Segment>& found, const std::vector<ProvenRun>& proven);
// Says that events were not held against the state of their jobs: that takes all of them.
Finding not_replayed_finding();

// The new receipt's parts: every segment without a fault. `replayed`: their events were replayed.
Result<void> keep_in_receipt(const Snapshot& snapshot, const Examination& found, bool replayed,
                             model::ReceiptWork& receipt);

}  // namespace varve::tay
