// SPDX-License-Identifier: MIT OR Apache-2.0
// The shared fixtures as `cat` and `state` print them, for tests of what must print the same.
#pragma once

#include <algorithm>
#include <string>

#include "tests/cli/fake_format.hpp"

namespace varve::test {

// Calls `with(store, face, what cat or state prints of it)` for every store in a folder of the
// fixtures, and for both faces where these can be read at all.
template <class With>
void for_each_fixture_face(const std::string& folder, With with) {
  for (const auto& entry : fs::directory_iterator(shared_path("fixtures") / folder)) {
    const std::string store = entry.path().string();
    for (const std::string face : {"log", "state"}) {
      const RunResult cat = run_real({face == "log" ? "cat" : "state", store});
      if (cat.exit_code <= 4) {
        SCOPED_TRACE(face + " of " + store);
        with(store, face, cat);
      }
    }
  }
}

// The folder as part of a test's name.
inline std::string folder_name(const testing::TestParamInfo<const char*>& chosen) {
  std::string name = chosen.param;
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

}  // namespace varve::test
