// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tay/value.hpp"

#include <string>

#include "tests/tay/fixtures.hpp"

namespace varve::tay {
namespace {

using test::unhex;

struct Vector {
  const char* name;
  const char* hex;
  const char* refusal;  // nullptr: a good value
};

// The published value vectors, section 1 of the vectors document.
constexpr Vector k_vectors[] = {
    {"V00", "00", nullptr},
    {"V01", "01", nullptr},
    {"V02", "02", nullptr},
    {"V03", "038000000000000000", nullptr},
    {"V04", "03ffffffffffffffff", nullptr},
    {"V05", "040000000000000000", nullptr},
    {"V06", "047fffffffffffffff", nullptr},
    {"V07", "048000000000000000", nullptr},
    {"V08", "04ffffffffffffffff", nullptr},
    {"V09", "050000000000000000", nullptr},
    {"V10", "058000000000000000", nullptr},
    {"V11", "053ff0000000000000", nullptr},
    {"V12", "050000000000000001", nullptr},
    {"V13", "057fefffffffffffff", nullptr},
    {"V14", "0600000000", nullptr},
    {"V15", "060000000100", nullptr},
    {"V16", "0600000002c3a9", nullptr},
    {"V17", "060000000365cc81", nullptr},
    {"V18", "0600000002d087", nullptr},
    {"V19", "0600000004f09f9880", nullptr},
    {"V20", "0600000004f48fbfbf", nullptr},
    {"V21", "0800000000", nullptr},
    {"V22", "0900000000", nullptr},
    {"V23", "070000000100", nullptr},
    {"V24", "0900000002060000000261610006000000016200", nullptr},
    {"X01", "030000000000000000", "noncanonical_integer"},
    {"X02", "057ff0000000000000", "nonfinite_float"},
    {"X03", "057ff8000000000000", "nonfinite_float"},
    {"X04", "0600000002c080", "utf8"},
    {"X05", "0600000003eda080", "utf8"},
    {"X06", "0600000004f4908080", "utf8"},
    {"X07", "0600000001c3", "utf8"},
    {"X08", "060000000180", "utf8"},
    {"X09", "0400", "truncated_value"},
    {"X10", "060000000261", "truncated_value"},
    {"X11", "09000000010000", "truncated_value"},
    {"N1", "09000000020600000001610006000000016100", "map_order"},
    {"N2", "09000000020600000001620006000000016100", "map_order"},
    {"N3", "090000000000", "trailing_bytes"},
    {"N4", "0a", "unknown_tag"},
};

TEST(Value, PublishedVectors) {
  const EventBudget budget;
  for (const Vector& vector : k_vectors) {
    SCOPED_TRACE(vector.name);
    const auto fault = check_value(unhex(vector.hex), budget);
    ASSERT_EQ(fault.has_value(), vector.refusal != nullptr);
    if (fault) {
      EXPECT_STREQ(fault->word, vector.refusal);
      EXPECT_FALSE(fault->limit);
    }
  }
}

TEST(Value, TheVectorsAreThePublishedFiles) {
  VARVE_REQUIRE_SHARED();
  for (const Vector& vector : k_vectors) {
    EXPECT_EQ(unhex(vector.hex), test::fixture_hex(std::string("events/") + vector.name + ".hex"))
        << vector.name;
  }
}

// A list in a list in a list...: d nodes deep.
Bytes nested_lists(std::size_t depth) {
  Bytes out;
  ValueWriter writer(out);
  for (std::size_t i = 1; i < depth; ++i) {
    writer.list(1);
  }
  writer.nil();
  return out;
}

TEST(Value, DepthBudgetIsExact) {
  const EventBudget budget;
  EXPECT_FALSE(check_value(nested_lists(64), budget));
  const auto fault = check_value(nested_lists(65), budget);
  ASSERT_TRUE(fault);
  EXPECT_STREQ(fault->word, "depth");
  EXPECT_TRUE(fault->limit);
}

TEST(Value, NodeBudgetIsExactAndComesBeforeTheElements) {
  Bytes bytes;
  ValueWriter writer(bytes);
  writer.list(3);
  writer.nil();
  writer.nil();
  bytes.push_back(std::byte{0x0B});  // an unknown tag, never reached
  EventBudget budget;
  budget.nodes = 3;
  const auto fault = check_value(bytes, budget);
  ASSERT_TRUE(fault);
  EXPECT_STREQ(fault->word, "output_nodes");
  budget.nodes = 4;
  EXPECT_STREQ(check_value(bytes, budget)->word, "unknown_tag");
}

TEST(Value, ByteBudgetCountsKeysAndComesBeforeUtf8) {
  const Bytes bytes = unhex("0900000001 060000000261ff 00");
  EventBudget budget;
  budget.bytes = 1;
  EXPECT_STREQ(check_value(bytes, budget)->word, "binary_bytes");
  budget.bytes = 2;
  EXPECT_STREQ(check_value(bytes, budget)->word, "utf8");
}

TEST(Value, KeyThatIsNotTextIsNamedBeforeItsOwnFaults) {
  EXPECT_STREQ(check_value(unhex("0900000001 0a0000000000"), {})->word, "map_key");
  EXPECT_STREQ(check_value(unhex("0900000001 070000000161"), {})->word, "map_key");
}

TEST(Value, HugeCountsAreRefusedByWhatIsLeft) {
  EXPECT_STREQ(check_value(unhex("08ffffffff00"), {})->word, "truncated_value");
  EXPECT_STREQ(check_value(unhex("09ffffffff00"), {})->word, "truncated_value");
  EXPECT_STREQ(check_value(unhex("06ffffffff00"), {})->word, "truncated_value");
}

TEST(Value, EveryProperPrefixIsTruncated) {
  const Bytes whole = unhex(
      "0900000003 060000000161 0800000002 00 04000000000000002a 060000000162 0600000003e282ac "
      "060000000163 05c000000000000000");
  ASSERT_FALSE(check_value(whole, {}));
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    const auto fault = check_value(ByteSpan(whole).first(cut), {});
    ASSERT_TRUE(fault) << cut;
    EXPECT_STREQ(fault->word, "truncated_value") << cut;
  }
}

TEST(Value, WriterGivesTheVectors) {
  Bytes out;
  ValueWriter writer(out);
  writer.map(2);
  writer.text("aa");
  writer.nil();
  writer.text("b");
  writer.nil();
  EXPECT_EQ(out, unhex("0900000002060000000261610006000000016200"));
  out.clear();
  writer.signed_integer(-1);
  writer.signed_integer(INT64_MIN);
  writer.signed_integer(0);
  writer.integer(k_u64_max);
  writer.real(-0.0);
  writer.boolean(false);
  writer.boolean(true);
  writer.opaque(unhex("00"));
  EXPECT_EQ(out, unhex("03ffffffffffffffff 038000000000000000 040000000000000000"
                       "04ffffffffffffffff 058000000000000000 01 02 070000000100"));
}

}  // namespace
}  // namespace varve::tay
