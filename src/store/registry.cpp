// SPDX-License-Identifier: MIT OR Apache-2.0
// The registration table: the one place where the format-neutral code names the formats.
#include <vector>

#include "arena/view.hpp"
#include "jss/sql_names.hpp"
#include "jss/view.hpp"
#include "kladde/view.hpp"
#include "store/sql_names.hpp"
#include "tay/view.hpp"
#include "varve/store.hpp"

namespace varve {

std::span<const Format* const> formats() {
  static const std::vector<const Format*> table = {
      &arena::format(),
      &kladde::format(),
      &tay::format(),
      &jss::format(),
  };
  return table;
}

model::SqlNames store::sql_names(const Format& format) {
  // By name, since a format may come with other ways to its stores (a remote archive).
  return format.name() == jss::format().name() ? jss::sql_names() : model::SqlNames{};
}

}  // namespace varve
