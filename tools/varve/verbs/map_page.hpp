// SPDX-License-Identifier: MIT OR Apache-2.0
// The picture of a store as one self-contained HTML page: it loads nothing from anywhere.
#pragma once

#include <string>

#include "output/map_model.hpp"
#include "varve/json.hpp"

namespace varve::cli {

// varve.map/1
Json map_json(const output::StoreMapPicture& picture);
std::string map_page(const output::StoreMapPicture& picture);

}  // namespace varve::cli
