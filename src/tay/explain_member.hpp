// SPDX-License-Identifier: MIT OR Apache-2.0
// `explain` of one file without the store around it: a segment of any name, STORE and its like.
#pragma once

#include <string>

#include "varve/store.hpp"

namespace varve::tay {

// See Format::detect_member.
Confidence detect_member(io::FileSystem& files, const std::string& path);

// See Format::explain_member. Nothing is compared with other files; a segment without footer is
// taken for the highest one.
Result<ScanSummary> explain_member(io::FileSystem& files, const std::string& path,
                                   const ExplainRequest& request, unsigned threads,
                                   ExplainSink& sink, FindingSink& findings);

}  // namespace varve::tay
