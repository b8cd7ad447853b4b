// SPDX-License-Identifier: MIT OR Apache-2.0
// What SQL offers over jss stores besides the tables of every format.
#pragma once

#include "model/sql_names.hpp"

namespace varve::jss {

// `records`: every version of a record that a commit wrote; `state` has the live ones alone.
model::SqlNames sql_names();

}  // namespace varve::jss
