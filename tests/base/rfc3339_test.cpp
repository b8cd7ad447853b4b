// SPDX-License-Identifier: MIT OR Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <random>

#include "base/json_writer.hpp"

namespace varve::base {
namespace {

std::string rfc3339(std::int64_t microseconds) {
  std::string out;
  append_rfc3339(out, microseconds);
  return out;
}

TEST(Rfc3339, KnownTimes) {
  EXPECT_EQ(rfc3339(0), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(rfc3339(-1), "1969-12-31T23:59:59.999999Z");
  EXPECT_EQ(rfc3339(1783000000000000), "2026-07-02T13:46:40.000000Z");
  EXPECT_EQ(rfc3339(951782400000000), "2000-02-29T00:00:00.000000Z");
  EXPECT_EQ(rfc3339(-2203891200000001), "1900-02-28T23:59:59.999999Z");
  EXPECT_EQ(rfc3339(253402300799999999), "9999-12-31T23:59:59.999999Z");
}

TEST(Rfc3339, YearsThatHaveNoFourDigitsAreWrittenAsTheyAre) {
  EXPECT_EQ(rfc3339(std::numeric_limits<std::int64_t>::max()), "294247-01-10T04:00:54.775807Z");
  EXPECT_EQ(rfc3339(std::numeric_limits<std::int64_t>::min()), "-290308-12-21T19:59:05.224192Z");
}

TEST(Rfc3339, AgreesWithTheStandardLibrary) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 20'000; ++i) {
    const auto time =
        static_cast<std::int64_t>(random() % 400'000'000'000'000'000) - 60'000'000'000'000'000;
    using namespace std::chrono;
    const sys_time<microseconds> point{microseconds(time)};
    const auto day = floor<days>(point);
    const year_month_day date(day);
    if (date.year() < year(0) || date.year() > year(9999)) {
      continue;
    }
    char text[16];
    std::snprintf(text, sizeof text, "%04d-%02u-%02u", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
    ASSERT_EQ(rfc3339(time).substr(0, 10), text);
  }
}

}  // namespace
}  // namespace varve::base
