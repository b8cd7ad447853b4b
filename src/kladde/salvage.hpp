// SPDX-License-Identifier: MIT OR Apache-2.0
// Getting back what the pages still prove: the flushed state of one header's world, and the journal
// on top of it.
#pragma once

#include <string>

#include "varve/salvage.hpp"

namespace varve::kladde {

// A new store with every allocation of the world, zeros where its pages are hurt (the receipt lists
// these holes), and the journal's transactions; see varve/salvage.hpp. The world is that of the
// governing header if its address table holds, else the other one's if that does.
Result<SalvageReport> salvage_store(io::FileSystem& files, const std::string& path,
                                    const SalvageRequest& request, FindingSink& findings);

}  // namespace varve::kladde
