// SPDX-License-Identifier: MIT OR Apache-2.0
// The formats' entries for SQL, beside the registration table.
#pragma once

#include "model/sql_names.hpp"
#include "varve/store.hpp"

namespace varve::store {

// Empty for a format that has none.
model::SqlNames sql_names(const Format& format);

}  // namespace varve::store
