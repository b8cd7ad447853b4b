// SPDX-License-Identifier: MIT OR Apache-2.0
#include <cstdio>

#include "varve/store.hpp"

int main() {
  std::printf("varve %s\n", std::string(varve::version()).c_str());
  return 0;
}
