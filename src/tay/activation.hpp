// SPDX-License-Identifier: MIT OR Apache-2.0
// From a candidate to a writer (section 12, Q4 to Q7).
#pragma once

#include <expected>

#include "tay/log_writer.hpp"
#include "tay/recovery.hpp"

namespace varve::tay {

// Looks at the whole store again and compares every fact, then syncs what recovery relied on, and
// opens the highest segment, or makes the one that an interrupted rotation still owes. An exhausted
// store is synced only; its writer refuses every record.
//
// The candidate's owner goes over to the writer; facts and jobs stay with the candidate. A refusal
// of kind uncertain_activation means that the store may have been changed; all others, that nothing
// was touched.
std::expected<LogWriter, Refusal> activate(Candidate& candidate, const LogWriterOptions& options);

}  // namespace varve::tay
