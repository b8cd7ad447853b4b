// SPDX-License-Identifier: MIT OR Apache-2.0
// The records of a Store v2 epoch (section 20): snapshots and mutations.
#pragma once

#include "tay/event.hpp"
#include "tay/record.hpp"

namespace varve::tay {

// Job and time of a record that decodes; false if it does not.
bool read_v2_facts(const RecordHeader& header, ByteSpan payload, const EventBudget& budget,
                   Event& out);

}  // namespace varve::tay
