// SPDX-License-Identifier: MIT OR Apache-2.0
// How far an export has come.
#pragma once

#include <cstdint>
#include <string>

namespace varve::cli {

struct ExportMark {
  std::uint64_t rows = 0;  // written for good
  std::string last;        // a fingerprint of the last of them
};

}  // namespace varve::cli
