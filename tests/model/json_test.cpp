// SPDX-License-Identifier: MIT OR Apache-2.0
#include "varve/json.hpp"

#include <gtest/gtest.h>

namespace varve {
namespace {

TEST(Json, WritesEveryKind) {
  Json json = Json::object();
  json.set("null", nullptr)
      .set("true", true)
      .set("int", -3)
      .set("u32", std::uint32_t{4'000'000'000})
      .set("i64", INT64_MIN)
      .set("u64", UINT64_MAX)
      .set("double", 1.0)
      .set("text", "a\"b\n")
      .set("bytes", std::string("\xff"))
      .set("list", Json::array().push(1).push(Json::object()))
      .set("hex", Json(Number::hex32(42)))
      .set("none", Json(Number{}));
  EXPECT_EQ(json.text(),
            "{\"null\":null,\"true\":true,\"int\":-3,\"u32\":4000000000,"
            "\"i64\":-9223372036854775808,\"u64\":18446744073709551615,\"double\":1.0,"
            "\"text\":\"a\\\"b\\n\",\"bytes\":{\"$bytes\":\"/w\"},\"list\":[1,{}],"
            "\"hex\":\"0x0000002A\",\"none\":null}");
}

TEST(Json, Only64BitIntegersBecomeStrings) {
  Json json = Json::object();
  json.set("int", -3)
      .set("u32", std::uint32_t{7})
      .set("i64", std::int64_t{1})
      .set("u64", std::uint64_t{2});
  EXPECT_EQ(json.text(true), "{\"int\":-3,\"u32\":7,\"i64\":\"1\",\"u64\":\"2\"}");
  EXPECT_EQ(*json.find("u32")->as_int64(), 7);
}

TEST(Json, PrettyTextHasTheSameContent) {
  const Json json = Json::object().set("a", Json::array().push(1).push(2)).set("b", Json::array());
  std::string out;
  json.write_pretty(out);
  EXPECT_EQ(out, "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": []\n}");
}

}  // namespace
}  // namespace varve
