// SPDX-License-Identifier: MIT OR Apache-2.0
// Planted faults, to see whether the tests notice. A call names one fault of
// tests/mutants/catalogue; it is true only in a build with -DVARVE_MUTANTS=ON, and there only for
// the fault that the environment variable VARVE_MUTANT names. In every other build it is a
// constant, and the compiler leaves nothing of it.
#pragma once

#include <string_view>

#ifdef VARVE_MUTANTS
#include <cstdlib>
#endif

namespace varve::base {

#ifdef VARVE_MUTANTS
inline bool mutant(std::string_view name) {
  static const char* const k_chosen = std::getenv("VARVE_MUTANT");
  return k_chosen != nullptr && name == k_chosen;
}
#else
constexpr bool mutant(std::string_view) { return false; }
#endif

}  // namespace varve::base
