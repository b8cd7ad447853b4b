// SPDX-License-Identifier: MIT OR Apache-2.0
// Checks the data pages that winning Refs use (section 7), side by side and reported in order.
#pragma once

#include "kladde/reader.hpp"

namespace varve::kladde {

// The unit that findings about data pages name.
inline constexpr const char* k_data_page_unit = "data page";

// Checks world.data_uses; fills in world.bad_pages and adds to world.bytes_checked.
Result<void> check_data_pages(const io::File& file, const LoadRequest& request,
                              const Policy& policy, World& world);

}  // namespace varve::kladde
