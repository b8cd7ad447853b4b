// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/names.hpp"

#include <gtest/gtest.h>

namespace varve::jss {
namespace {

TEST(SegmentNames, OfTheVectors) {
  const std::pair<std::uint64_t, std::string_view> vectors[] = {
      {0, "seg_0000000000.jss"},
      {35, "seg_000000000z.jss"},
      {36, "seg_0000000010.jss"},
      {82, "seg_000000002a.jss"},
      {3656158440062975, "seg_zzzzzzzzzz.jss"},
  };
  for (const auto& [number, name] : vectors) {
    EXPECT_EQ(segment_name(number), name);
    EXPECT_EQ(segment_number(name), number);
  }
  EXPECT_EQ(segment_name(3656158440062976), std::nullopt);
  EXPECT_EQ(segment_name(UINT64_MAX), std::nullopt);
}

TEST(SegmentNames, OtherTextsAreNone) {
  for (const std::string_view name :
       {"seg_000000002A.jss", "seg_2a.jss", "seg_00000000002a.jss", "seg_000000002a.jss.tmp",
        "seg_-000000001.jss", "seg_000000002a.jsx", "Seg_000000002a.jss", "", "seg_.jss",
        "seg_00000 002a.jss"}) {
    EXPECT_EQ(segment_number(name), std::nullopt) << name;
  }
  EXPECT_TRUE(is_temporary_name("seg_000000002a.jss.tmp"));
  EXPECT_FALSE(is_temporary_name("seg_000000002A.jss.tmp"));
  EXPECT_FALSE(is_temporary_name("seg_000000002a.jss"));
  EXPECT_FALSE(is_temporary_name(".tmp"));
}

}  // namespace
}  // namespace varve::jss
