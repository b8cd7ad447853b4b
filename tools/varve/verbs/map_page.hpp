// SPDX-License-Identifier: MIT OR Apache-2.0
// The picture of a store as one self-contained HTML page: it loads nothing from anywhere.
#pragma once

#include <string>

#include "varve/json.hpp"
#include "verbs/map_model.hpp"

namespace varve::cli {

// varve.map/1
Json map_json(const StoreMapPicture& picture);
std::string map_page(const StoreMapPicture& picture);

}  // namespace varve::cli
