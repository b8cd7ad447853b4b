// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/objects.hpp"

#include <gtest/gtest.h>

#include "base/checksum.hpp"
#include "base/endian.hpp"

namespace varve::tay {
namespace {

// STORE, a header and a footer with a flag set and a checksum that holds.
TEST(Objects, FlagsThatNobodyKnowsAreRefusedAlthoughTheChecksumHolds) {
  Id id{};
  id[0] = decltype(id)::value_type(7);
  Bytes store;
  encode_store(id, store);
  Bytes header;
  encode_header({1, 1, id}, header);
  for (Bytes* bytes : {&store, &header}) {
    (*bytes)[k_flags_at] = std::byte{1};
    const std::size_t crc_at = bytes->size() - 4;
    const std::uint32_t crc = base::crc32c(ByteSpan(*bytes).first(crc_at));
    for (std::size_t i = 0; i < 4; ++i) {
      (*bytes)[crc_at + i] = static_cast<std::byte>(crc >> (24 - 8 * i));
    }
  }
  Id read{};
  const auto store_fault = decode_store(store, read);
  ASSERT_TRUE(store_fault);
  EXPECT_STREQ(store_fault->fault.word, "unsupported_flags");
  EXPECT_EQ(store_fault->type, ObjectFault::Class::unsupported);
  SegmentHeader segment;
  const auto header_fault = decode_header(header, segment);
  ASSERT_TRUE(header_fault);
  EXPECT_STREQ(header_fault->fault.word, "unsupported_flags");
}

}  // namespace
}  // namespace varve::tay
