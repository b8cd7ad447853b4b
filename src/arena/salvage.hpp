// SPDX-License-Identifier: MIT OR Apache-2.0
// Getting back every frame that its own checks prove.
#pragma once

#include <string>

#include "varve/salvage.hpp"

namespace varve::arena {

// A new store with the frames of the live generation (or of the one that the option `generation`
// names), in order and under new seqs; see varve/salvage.hpp. Frames whose payload the format's
// engine would refuse, and frames behind the end of a segment, are set aside as raw bytes.
Result<SalvageReport> salvage_store(io::FileSystem& files, const std::string& path,
                                    const SalvageRequest& request, FindingSink& findings);

}  // namespace varve::arena
