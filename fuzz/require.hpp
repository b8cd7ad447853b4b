// SPDX-License-Identifier: MIT OR Apache-2.0
// A promise of the code that a target checks: if it does not hold, the input is a finding.
#pragma once

#include <cstdlib>

namespace varve::fuzz {

inline void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

}  // namespace varve::fuzz
