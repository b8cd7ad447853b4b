// SPDX-License-Identifier: MIT OR Apache-2.0
// Type descriptors: the vectors of section 8, what a decoder refuses, values by their descriptors.
#include "kladde/value.hpp"
#include "tests/kladde/helpers.hpp"
#include "varve/kladde_types.hpp"

namespace varve::kladde::test {
namespace {

struct TypeVector {
  const char* name;
  const char* table;
  const char* fingerprint;
  bool storable = true;  // false: contains itself, legal only for the hash
};

const TypeVector k_vectors[] = {
    {"Point", "02 80 05 50 6f 69 6e 74 02 01 78 01 01 79 01 06",
     "0d91791f5827efadfa8150af9812fad6"},
    {"List",
     "02 81 04 4c 69 73 74 04 02 00 03 4e 69 6c 00 01 04 43 6f 6e 73 02 01 30 01 01 31 00 06",
     "af12af0167771e03506952fff8a274fd", false},
    {"Opaque123", "01 82 03 6c 69 62 01 54 01 02 03 08 00", "11435cae785f4d2027e535f33aa7447a"},
    {"Opaque190", "01 82 03 6c 69 62 01 54 01 09 00 08 00", "11435cae785f4d2027e535f33aa7447a"},
    {"Opaque010", "01 82 03 6c 69 62 01 54 00 01 00 08 00", "a11476078ded8eec48e4af623b485b61"},
    {"U8", "01 00", "6e340b9cffb37a989ca544e6bb780a2c"},
    {"Mutual", "02 80 01 41 01 01 62 01 80 01 42 01 01 61 00", "71e5568ed4e7914f7dd37e8d5e170771",
     false},
    {"Tree",
     "04 80 04 54 72 65 65 02 05 76 61 6c 75 65 01 08 63 68 69 6c 64 72 65 6e 02 03 84 03 85 00",
     "800a02fc65cd151ca86c3c4c2c96b19a"},
    {"SmallString", "05 88 01 03 85 02 0b 84 04 86 01", "fc9a8d5d6c01ea1c928806c4df9c9beb"},
    {"PointTwice", "03 80 05 50 6f 69 6e 74 02 01 78 01 01 79 02 06 06",
     "0d91791f5827efadfa8150af9812fad6"},
    {"Other", "02 80 05 4f 74 68 65 72 02 01 78 01 01 79 01 06",
     "0d91791f5827efadfa8150af9812fad6"},
};

class Types : public ::testing::TestWithParam<TypeVector> {};

TEST_P(Types, TablesAndFingerprintsAreThePublishedOnes) {
  const TypeVector& vector = GetParam();
  const base::Bytes bytes = hex(vector.table);
  const auto table = decode_type_table(bytes, TypeRules::references);
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_EQ(base::to_hex(type_fingerprint(*table)), vector.fingerprint);
  EXPECT_EQ(must(encode_type_table(*table, TypeRules::references)), bytes);
  EXPECT_EQ(decode_type_table(bytes).has_value(), vector.storable);
  EXPECT_EQ(encode_type_table(*table).has_value(), vector.storable);
}

// Every table cut short or followed by a byte is refused, with an offset inside it.
TEST_P(Types, CutAndLongerTablesAreRefused) {
  base::Bytes bytes = hex(GetParam().table);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto table = decode_type_table(base::ByteSpan(bytes).first(size), TypeRules::references);
    ASSERT_FALSE(table) << size;
    EXPECT_EQ(table.error().reason, word::type_table);
    EXPECT_LE(table.error().offset, size);
  }
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(decode_type_table(bytes, TypeRules::references));
}

INSTANTIATE_TEST_SUITE_P(Vectors, Types, ::testing::ValuesIn(k_vectors),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(TypeRefusals, EveryRuleHasATableThatBreaksIt) {
  const std::pair<const char*, const char*> cases[] = {
      {"empty table", "00"},
      {"reserved primitive u128", "01 0c"},
      {"unassigned primitive", "01 7f"},
      {"array", "02 83 01 05 00"},
      {"unassigned tag", "01 89"},
      {"highest tag", "01 ff"},
      {"reference out of range", "01 84 01"},
      {"name not UTF-8", "01 80 01 ff 00"},
      {"width 3", "01 81 01 45 03 00"},
      {"discriminants descend", "01 81 01 45 01 02 01 01 61 00 00 01 62 00"},
      {"discriminant wider than its width", "01 81 01 45 01 01 80 02 01 61 00"},
      {"root a sequence", "02 85 01 00"},
      {"root packed", "02 86 01 00"},
      {"sequence in a struct", "03 80 01 53 01 01 61 01 85 02 00"},
      {"packed in a struct", "03 80 01 53 01 01 61 01 86 02 00"},
      {"packed in packed", "04 84 01 86 02 86 03 00"},
      {"small behind a pointer, slotted", "04 84 01 88 02 03 85 03 00"},
      {"slotted small", "04 87 01 88 02 03 85 03 00"},
      {"struct in itself", "01 80 01 53 01 01 61 00"},
      {"sequence under slotted", "03 87 01 85 02 00"},
  };
  for (const auto& [name, table] : cases) {
    const auto decoded = decode_type_table(hex(table));
    ASSERT_FALSE(decoded) << name;
    EXPECT_EQ(decoded.error().reason, word::type_table) << name;
  }
}

TEST(TypeRefusals, DeepNestingIsRefusedAndStillHashes) {
  TypeTable table(100'001);
  for (std::uint32_t i = 0; i + 1 < table.size(); ++i) {
    table[i].kind = TypeKind::structure;
    table[i].fields = {{"f", i + 1}};
  }
  EXPECT_FALSE(encode_type_table(table));
  EXPECT_TRUE(encode_type_table(table, TypeRules::references));
  TypeTable shallow = table;
  shallow.front().fields.clear();
  EXPECT_NE(type_fingerprint(table), type_fingerprint(shallow));
}

std::string json_of(const char* table_hex, const char* value_hex) {
  const TypeTable table = must(decode_type_table(hex(table_hex)));
  const auto read = ValueReader(table).read_root(hex(value_hex), true);
  return read ? read->json.text()
              : "fault at " + std::to_string(read.error().offset) + ": " + read.error().what;
}

TEST(Values, AreShownByTheirDescriptors) {
  EXPECT_EQ(json_of(k_vectors[0].table, "ff ff ff ff 02 00 00 00"), R"({"x":-1,"y":2})");
  EXPECT_EQ(json_of(k_vectors[5].table, "2a"), "42");
  EXPECT_EQ(json_of(k_vectors[7].table, "07 00 00 00 00 00 00 00 09 00 00 00"),
            R"({"value":7,"children":{"$pointer":9}})");
  EXPECT_EQ(json_of(k_vectors[8].table, "05 68 65 6c 6c 6f"), R"("hello")");
  EXPECT_EQ(json_of(k_vectors[8].table, "ff 05"), R"({"$pointer":5})");
  EXPECT_EQ(json_of(k_vectors[2].table, "01 02 03 04 05 06 07 08"),
            R"({"$opaque":"lib::T","bytes":"0102030405060708"})");
  // enum E (width 1) { 0 A, 1 B(u16) }: padded to its largest variant.
  constexpr const char* e = "02 81 01 45 01 02 00 01 41 00 01 01 42 01 01 30 01 01";
  EXPECT_EQ(json_of(e, "00 00 00"), R"("A")");
  EXPECT_EQ(json_of(e, "01 02 01"), R"({"B":{"0":258}})");
  EXPECT_EQ(json_of(e, "02 00 00"), "fault at 1: no variant has this discriminant");
  EXPECT_EQ(json_of(e, "00 00"), "fault at 1: the value ends inside a field");
}

TEST(Values, PackedNumbersAreMinimalAndInRange) {
  // pointer to packed i16 read as a target.
  const TypeTable table = must(decode_type_table(hex("03 84 01 86 02 05")));
  const ValueReader reader(table);
  const auto read = [&](const char* bytes) {
    const auto value = reader.read_target(1, hex(bytes), true);
    return value ? value->json.text() : std::string("fault");
  };
  EXPECT_EQ(read("03"), "-2");
  EXPECT_EQ(read("ff ff 03"), "-32768");
  EXPECT_EQ(read("80 80 04"), "fault");  // 17 bits
  EXPECT_EQ(read("83 00"), "fault");     // not minimal
  EXPECT_EQ(read("83"), "fault");        // cut
  EXPECT_EQ(read("03 03"), "fault");     // longer
}

}  // namespace
}  // namespace varve::kladde::test
