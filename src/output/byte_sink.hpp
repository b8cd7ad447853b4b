// SPDX-License-Identifier: MIT OR Apache-2.0
// Where finished output goes: a file descriptor, a socket, a string.
#pragma once

#include <string_view>

#include "varve/result.hpp"

namespace varve::output {

class ByteSink {
 public:
  virtual ~ByteSink() = default;
  // Takes all bytes. False if nobody reads any more (a closed pipe), which ends the work without
  // being an error.
  virtual Result<bool> write(std::string_view bytes) = 0;
};

}  // namespace varve::output
