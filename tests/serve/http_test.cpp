// SPDX-License-Identifier: MIT OR Apache-2.0
#include "serve/http.hpp"

#include <gtest/gtest.h>

namespace varve::serve {
namespace {

TEST(Http, HeaderNamesAreFoundInAnyCase) {
  HttpRequest request;
  request.headers.emplace("If-None-Match", "\"a\"");
  ASSERT_NE(request.header("if-none-match"), nullptr);
  EXPECT_EQ(*request.header("IF-NONE-MATCH"), "\"a\"");
  EXPECT_EQ(request.header("If-None-Matc"), nullptr);
}

TEST(Http, TheFirstOfRepeatedParametersIsGiven) {
  HttpRequest request;
  request.parameters.emplace("kinds", "commit");
  request.parameters.emplace("kinds", "sync");
  ASSERT_NE(request.parameter("kinds"), nullptr);
  EXPECT_EQ(*request.parameter("kinds"), "commit");
  EXPECT_EQ(request.parameter("dids"), nullptr);
}

}  // namespace
}  // namespace varve::serve
