// SPDX-License-Identifier: MIT OR Apache-2.0
// Bloom blobs: whatever decodes can be asked, and was written by the encoder's rules.
#include <cstdlib>

#include "jss/bloom.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace varve;
  const base::ByteSpan blob{reinterpret_cast<const std::byte*>(data), size};
  const auto view = jss::BloomView::parse(blob);
  if (!view) {
    return 0;
  }
  const jss::BloomKey key = jss::BloomKey::of(blob);
  jss::BloomBuilder builder(view->parameters());
  if (!view->may_contain(key)) {
    builder.insert(key);
  }
  builder.insert(key);
  base::Bytes marshalled;
  builder.marshal(marshalled);
  const auto again = jss::BloomView::parse(marshalled);
  if (!again || !again->may_contain(key) || marshalled.size() != size) {
    std::abort();
  }
  return 0;
}
