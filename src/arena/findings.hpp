// SPDX-License-Identifier: MIT OR Apache-2.0
// What a walk met, as findings in the contract's form.
#pragma once

#include "arena/log_walk.hpp"
#include "arena/transaction.hpp"
#include "varve/finding.hpp"

namespace varve::arena {

// A bad frame. `index` is its ordinal in its segment. The code is the reason word of section 3.2;
// the kind says what sections 7 and 9 call it. A torn tail is `torn-tail`, its kind the reason.
Finding damage_finding(const SegmentContext& segment, const Damage& damage, std::uint64_t index);

// What stands behind the end: `frames-behind-end`, a warning, or `remains-behind-end`, a note.
Finding behind_finding(const SegmentContext& segment, const BehindEnd& behind);

// A payload that breaks a rule (bad-payload, damaged) or is of a newer kind (a warning).
Finding payload_finding(const SegmentContext& segment, std::uint64_t frame_offset,
                        std::uint64_t index, const PayloadFault& fault);

Finding note_finding(std::string code, std::string file, std::string message,
                     std::uint64_t offset = 0);

}  // namespace varve::arena
