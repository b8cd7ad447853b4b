// SPDX-License-Identifier: MIT OR Apache-2.0
// The JSON writer, read back by a parser of another make.
#include "base/json_writer.hpp"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

#include "base/text_coding.hpp"
#include "tests/support.hpp"

namespace varve::base {
namespace {

std::string text_json(std::string_view text) {
  std::string out;
  append_json_text(out, text);
  return out;
}

TEST(JsonWriter, EscapesWhatMustBe) {
  EXPECT_EQ(text_json("plain"), "\"plain\"");
  EXPECT_EQ(text_json("a\"b\\c/d"), "\"a\\\"b\\\\c/d\"");
  EXPECT_EQ(text_json("\b\f\n\r\t"), "\"\\b\\f\\n\\r\\t\"");
  EXPECT_EQ(text_json(std::string_view("\x00\x1f\x7f", 3)), "\"\\u0000\\u001f\x7f\"");
  EXPECT_EQ(text_json("\u00e9\u2028\U0001F600"), "\"\u00e9\u2028\U0001F600\"");
  EXPECT_EQ(text_json(""), "\"\"");
}

// Every byte at every place of a longer text, whatever stands around it.
TEST(JsonWriter, EscapesAreFoundWhereverTheyStand) {
  for (const char around : {'a', ' ', '\x1f', '"', '\x7f', '\x80'}) {
    for (std::size_t length = 1; length < 20; ++length) {
      for (std::size_t at = 0; at < length; ++at) {
        for (int value = 0; value < 256; ++value) {
          std::string text(length, around);
          text[at] = static_cast<char>(value);
          std::string expected;
          for (const char c : text) {
            const std::string one = text_json(std::string_view(&c, 1));
            expected += one.substr(1, one.size() - 2);
          }
          ASSERT_EQ(text_json(text), '"' + expected + '"');
        }
      }
    }
  }
}

TEST(JsonWriter, AnotherParserReadsTheSameText) {
  std::mt19937_64 random(1);
  simdjson::dom::parser parser;
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (std::uint64_t left = random() % 12; left > 0; --left) {
      static constexpr std::string_view k_parts[] = {"a",      "\"",     "\\", "\n",   "\x01",
                                                     "\u00e9", "\u2028", "/",  "\x7f", "word"};
      text += k_parts[random() % std::size(k_parts)];
    }
    if (random() % 4 == 0) {
      text += '\0';
    }
    const std::string json = "[" + text_json(text) + "]";
    simdjson::dom::element element;
    ASSERT_EQ(parser.parse(json).get(element), simdjson::SUCCESS) << json;
    EXPECT_EQ(std::string_view(element.at(0).get_string()), text);
  }
}

TEST(JsonWriter, TextThatIsNotUtf8BecomesBytes) {
  std::string out;
  append_json_text_or_bytes(out, "\xFFz");
  EXPECT_EQ(out, "{\"$bytes\":\"/3o\"}");
  out.clear();
  append_json_text_or_bytes(out, "ok");
  EXPECT_EQ(out, "\"ok\"");
}

TEST(JsonWriter, DoublesComeBackAndLookLikeDoubles) {
  const auto json = [](double value) {
    std::string out;
    append_double(out, value);
    return out;
  };
  EXPECT_EQ(json(0), "0.0");
  EXPECT_EQ(json(-0.0), "-0.0");
  EXPECT_EQ(json(1), "1.0");
  EXPECT_EQ(json(0.1), "0.1");
  EXPECT_EQ(json(1e300), "1e+300");
  EXPECT_EQ(json(5e-324), "5e-324");
  std::mt19937_64 random(2);
  for (std::uint64_t i = varve::test::scaled(100'000); i > 0; --i) {
    const double value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) {
      continue;
    }
    const std::string text = json(value);
    ASSERT_EQ(std::strtod(text.c_str(), nullptr), value) << text;
    ASSERT_NE(text.find_first_of(".e"), std::string::npos) << text;
  }
}

TEST(JsonWriter, Integers) {
  std::string out;
  append_integer(out, std::numeric_limits<std::int64_t>::min());
  out += ' ';
  append_integer(out, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(out, "-9223372036854775808 18446744073709551615");
}

}  // namespace
}  // namespace varve::base
