// SPDX-License-Identifier: MIT OR Apache-2.0
// The body of a block: what decodes must add up to the body, byte for byte.
#include <algorithm>
#include <cstdlib>

#include "jss/block.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace varve;
  static jss::Block block;
  std::copy_n(reinterpret_cast<const std::byte*>(data), size, block.body.reserve(size + 1));
  block.body.set_size(size);
  if (const auto fault = block.decode()) {
    if (fault->offset > size || block.columns.rows != 0) {
      std::abort();
    }
    return 0;
  }
  const jss::BlockColumns& c = block.columns;
  std::uint64_t bytes = jss::k_body_count_bytes + jss::k_row_fixed_bytes * c.rows;
  std::uint64_t mixed = 0;
  for (std::uint32_t row = 0; row < c.rows; ++row) {
    if (!jss::is_kind(c.kind[row])) {
      std::abort();
    }
    for (const auto* strings : {&c.collection, &c.did, &c.rkey, &c.rev, &c.payload}) {
      const std::string_view text = strings->at(row);
      bytes += text.size();
      for (const char letter : text) {
        mixed += static_cast<unsigned char>(letter);  // each byte is readable
      }
    }
    mixed += c.seq[row] + static_cast<std::uint64_t>(c.witnessed_at[row] ^ c.indexed_at[row]);
  }
  if (bytes != size) {
    std::abort();
  }
  volatile std::uint64_t sink = mixed;
  static_cast<void>(sink);
  return 0;
}
