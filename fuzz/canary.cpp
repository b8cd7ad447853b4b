// SPDX-License-Identifier: MIT OR Apache-2.0
// A decoder with a planted fault, so that a fuzzer that finds nothing is noticed: scripts/fuzz-all
// demands that this target fails. A table of 8 entries is read with an index that is compared
// with 9.
#include <cstddef>
#include <cstdint>
#include <memory>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t k_entries = 8;
  if (size < 4 || data[0] != 'V' || data[1] != 'R' || data[2] != 'V') {
    return 0;
  }
  const std::size_t index = data[3];
  const auto table = std::make_unique<std::uint8_t[]>(k_entries);
  if (index > k_entries) {
    return 0;
  }
  volatile std::uint8_t out = table[index];
  (void)out;
  return 0;
}
