// SPDX-License-Identifier: MIT OR Apache-2.0
// The collection index section; the block count of the header comes from the first four bytes.
#include <algorithm>
#include <cstdlib>

#include "jss/footer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace varve;
  if (size < 4) {
    return 0;
  }
  const base::ByteSpan bytes{reinterpret_cast<const std::byte*>(data), size};
  const std::uint32_t blocks = base::u32le(bytes.data()) % (jss::k_max_blocks + 1);
  jss::CollectionIndex index;
  if (index.parse(bytes.subspan(4), blocks, std::uint64_t{1} << 24)) {
    return 0;
  }
  std::uint64_t set = 0;
  for (std::uint32_t block = 0; block < std::min(index.block_count(), 64U); ++block) {
    for (std::uint32_t id = 0; id < index.entries().size(); ++id) {
      set += index.has(block, id) ? 1U : 0U;
    }
  }
  if (set > std::uint64_t{index.block_count()} * index.entries().size()) {
    std::abort();
  }
  return 0;
}
