// SPDX-License-Identifier: MIT OR Apache-2.0
// `explain` of one file without the store around it: a segment, or one of the small files.
#pragma once

#include <string>

#include "varve/store.hpp"

namespace varve::arena {

// See Format::detect_member.
Confidence detect_member(io::FileSystem& files, const std::string& path);

// See Format::explain_member. A segment is taken for the last one of its log, with room for the
// largest frame; payloads are told apart as far as that needs no store.json.
Result<ScanSummary> explain_member(io::FileSystem& files, const std::string& path,
                                   const ExplainRequest& request, const OpenOptions& options,
                                   ExplainSink& sink, FindingSink& findings);

}  // namespace varve::arena
