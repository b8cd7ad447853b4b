// SPDX-License-Identifier: MIT OR Apache-2.0
// The report of `verify` for people: verdict, findings, counts, what to do next.
#pragma once

#include <string>

#include "cli/session.hpp"
#include "varve/finding.hpp"
#include "varve/report.hpp"

namespace varve::cli {

std::string verify_text(const Session& session, const Format& format, const VerifyReport& report,
                        const FindingList& findings, double elapsed_s);

// "seg_1.jss at byte 1234", "byte 1234" for a store of one file.
std::string place_of(const Finding& finding);
// "expected 0x1A2B3C4D, found 0x00000000"; empty if the finding has no two values.
std::string disagreement_of(const Finding& finding);

}  // namespace varve::cli
