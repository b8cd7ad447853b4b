// SPDX-License-Identifier: MIT OR Apache-2.0
// What an embedder's first program looks like.
#include <varve/store.hpp>

#include <cstdio>
#include <string>

int main() {
  const auto store = varve::open_store("/no/such/store");
  if (store || store.error().code != varve::ErrorCode::io) {
    return 1;
  }
  std::printf("varve %s, %zu formats\n", std::string(varve::version()).c_str(),
              varve::formats().size());
  return varve::formats().empty() ? 1 : 0;
}
