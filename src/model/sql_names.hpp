// SPDX-License-Identifier: MIT OR Apache-2.0
// What SQL knows of a format besides its schemas and filters.
#pragma once

#include <span>
#include <string_view>

namespace varve::model {

// A view that SQL offers besides the tables, over them.
struct NamedQuery {
  std::string_view name;
  std::string_view sql;  // a SELECT
};

struct SqlNames {
  std::span<const NamedQuery> queries;
  // Filters where a value "text.*" stands for every value that begins so.
  std::span<const std::string_view> prefix_filters;
};

}  // namespace varve::model
