// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/bloom.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "base/checksum.hpp"
#include "base/text_coding.hpp"
#include "jss/bloom_partitions.hpp"
#include "jss/layout.hpp"
#include "tests/support.hpp"

namespace varve::jss {
namespace {

constexpr std::string_view k_did_a = "did:plc:aaaaaaaaaaaaaaaaaaaaaaaa";
constexpr std::string_view k_did_b = "did:plc:bbbbbbbbbbbbbbbbbbbbbbbb";
constexpr std::string_view k_did_web = "did:web:example.net";
constexpr std::string_view k_did_c = "did:plc:53iucmf5ldftgqyf2ac7hmhd";

base::Bytes marshalled(const BloomBuilder& builder) {
  base::Bytes blob;
  builder.marshal(blob);
  return blob;
}

// The positions set in a blob, as (block, bit).
std::set<std::pair<std::uint64_t, std::uint32_t>> bits_of(const base::Bytes& blob) {
  std::set<std::pair<std::uint64_t, std::uint32_t>> out;
  for (std::size_t i = k_bloom_header_bytes; i + k_bloom_crc_bytes < blob.size(); ++i) {
    for (std::uint32_t bit = 0; bit < 8; ++bit) {
      if (((base::u8(blob[i]) >> bit) & 1) != 0) {
        const std::uint64_t at = (i - k_bloom_header_bytes) * 8 + bit;
        out.emplace(at / 512, static_cast<std::uint32_t>(at % 512));
      }
    }
  }
  return out;
}

TEST(BloomPartitions, EachRowFillsABlock) {
  for (std::uint32_t k = k_min_hash_count; k <= k_max_hash_count; ++k) {
    std::uint32_t sum = 0;
    ASSERT_EQ(bloom_parts(k).size(), k);
    for (const std::uint16_t part : bloom_parts(k)) {
      sum += part;
    }
    EXPECT_EQ(sum, 512U) << "k = " << k;
  }
  EXPECT_TRUE(bloom_parts(2).empty());
  EXPECT_TRUE(bloom_parts(18).empty());
  EXPECT_TRUE(bloom_parts(0xFFFFFFFF).empty());
}

TEST(BloomPartitions, RemaindersByMultiplicationAreExact) {
  std::mt19937_64 random(20260704);
  const auto check = [](std::uint32_t value) {
    for (std::uint32_t k = k_min_hash_count; k <= k_max_hash_count; ++k) {
      for (std::size_t i = 0; i < k; ++i) {
        const std::uint32_t part = bloom_parts(k)[i];
        ASSERT_EQ(bloom_remainder(value, part, bloom_reciprocals(k)[i]), value % part)
            << value << " " << part;
      }
    }
  };
  for (std::uint32_t i = 0; i < 2000; ++i) {
    check(i);
    check(0xFFFFFFFF - i);
    check(0x80000000 - 1000 + i);
  }
  for (std::uint64_t round = varve::test::scaled(100'000); round > 0; --round) {
    check(static_cast<std::uint32_t>(random()));
  }
}

// Vectors, section 1: long inputs, and the block that their hash picks.
TEST(BloomKey, BlockOfLongInputs) {
  struct Vector {
    std::size_t length;
    std::uint64_t high;
    std::uint32_t folded;
    std::uint64_t block_of_1000;
  };
  const Vector vectors[] = {
      {0, 0x99aa06d3014798d8, 646744667, 600},   {1, 0x810fb55b58f31e9b, 1453955034, 504},
      {3, 0x6d89480d998fc5e5, 3494014301, 427},  {16, 0x35e9e0d78a33692e, 2006056637, 210},
      {17, 0xdbba4e4e5d1b2a91, 930764590, 858},  {32, 0x159fc8af94ef0409, 4149504616, 84},
      {64, 0xe9f25f1a3cd33b55, 2901842782, 913}, {100, 0x7639046424043416, 2525094665, 461},
  };
  for (const Vector& vector : vectors) {
    base::Bytes input;
    for (std::size_t j = 0; j < vector.length; ++j) {
      input.push_back(static_cast<std::byte>(131 * j + vector.length + 7));
    }
    const BloomKey key = BloomKey::of(base::ByteSpan(input));
    EXPECT_EQ(key.high, vector.high);
    EXPECT_EQ(key.folded, vector.folded);
    BloomBuilder builder({.blocks = 1000, .hash_count = 9});
    builder.insert(key);
    EXPECT_EQ(bits_of(marshalled(builder)).begin()->first, vector.block_of_1000);
  }
}

// Vectors, section 2.
TEST(BloomBuilder, SetsTheBitsOfTheVectors) {
  struct Vector {
    std::string_view key;
    BloomParameters parameters;
    std::uint64_t block;
    std::vector<std::uint32_t> bits;
  };
  const BloomParameters one{1, 15};
  const BloomParameters two{2, 11};
  const BloomParameters many{131, 9};
  const Vector vectors[] = {
      {"", one, 0, {8, 21, 40, 41, 68, 106, 118, 146, 193, 215, 277, 331, 369, 393, 487}},
      {"", two, 1, {7, 35, 82, 104, 166, 200, 264, 302, 326, 420, 477}},
      {"", many, 78, {7, 69, 123, 161, 185, 275, 368, 453, 461}},
      {"a", one, 0, {4, 16, 33, 42, 82, 92, 124, 159, 171, 219, 269, 301, 351, 415, 471}},
      {"a", two, 1, {13, 48, 60, 108, 158, 218, 234, 284, 348, 404, 450}},
      {"a", many, 86, {11, 61, 93, 143, 207, 248, 342, 444, 467}},
      {"abc", one, 0, {10, 21, 28, 43, 79, 99, 132, 149, 182, 245, 287, 293, 345, 431, 479}},
      {"abc", two, 0, {21, 38, 71, 134, 176, 213, 226, 278, 364, 412, 453}},
      {"abc", many, 3, {37, 79, 85, 137, 223, 251, 368, 389, 504}},
      {k_did_a, one, 0, {9, 13, 38, 48, 62, 83, 127, 166, 171, 243, 267, 308, 386, 392, 474}},
      {k_did_a, two, 1, {16, 55, 60, 132, 156, 201, 241, 319, 325, 407, 486}},
      {k_did_a, many, 115, {35, 59, 100, 178, 184, 284, 318, 443, 470}},
      {k_did_b, one, 0, {7, 15, 30, 55, 75, 87, 135, 151, 183, 244, 268, 336, 356, 438, 494}},
      {k_did_b, two, 0, {24, 40, 72, 133, 157, 221, 269, 289, 371, 427, 497}},
      {k_did_b, many, 3, {36, 60, 128, 148, 230, 295, 339, 395, 478}},
      {k_did_web, one, 0, {4, 20, 32, 51, 80, 89, 121, 169, 191, 225, 262, 311, 352, 416, 490}},
      {k_did_web, two, 1, {10, 58, 80, 114, 151, 207, 244, 285, 349, 423, 477}},
      {k_did_web, many, 74, {17, 54, 103, 144, 208, 275, 369, 430, 464}},
      {k_did_c, one, 0, {7, 20, 29, 49, 75, 85, 138, 148, 205, 244, 275, 329, 352, 410, 473}},
      {k_did_c, two, 0, {27, 37, 94, 133, 164, 199, 262, 285, 343, 406, 477}},
      {k_did_c, many, 13, {36, 67, 121, 144, 202, 275, 376, 406, 510}},
  };
  for (const Vector& vector : vectors) {
    BloomBuilder builder(vector.parameters);
    builder.insert(BloomKey::of(vector.key));
    std::set<std::pair<std::uint64_t, std::uint32_t>> expected;
    for (const std::uint32_t bit : vector.bits) {
      expected.emplace(vector.block, bit);
    }
    EXPECT_EQ(bits_of(marshalled(builder)), expected) << vector.key;
  }
}

std::string golden_key(std::string_view prefix, unsigned i) {
  std::string key = std::string(prefix) + "-" + std::to_string(i) + ":";
  const unsigned tail = 7 * i % 1031;
  for (unsigned j = 0; j < tail; ++j) {
    key += static_cast<char>(j % 256);
  }
  return key;
}

std::vector<std::string> edge_keys() {
  return {"",
          std::string(1, '\0'),
          "\xff",
          "a",
          "ab",
          "abc",
          "abcd",
          std::string(8, '\0'),
          std::string(9, '\xff'),
          "0123456789abcdef",
          "0123456789abcdefg",
          std::string(128, 'x'),
          std::string(129, 'y'),
          std::string(240, 'z'),
          std::string(241, 'w'),
          "hello, \xe4\xb8\x96\xe7\x95\x8c"};
}

BloomBuilder golden_filter(BloomParameters parameters, unsigned members, bool edges) {
  BloomBuilder builder(parameters);
  if (edges) {
    for (const std::string& key : edge_keys()) {
      builder.insert(BloomKey::of(key));
    }
  }
  for (unsigned i = 0; i < members; ++i) {
    builder.insert(BloomKey::of(golden_key("member", i)));
  }
  return builder;
}

struct Golden {
  BloomParameters parameters;
  unsigned members;
  std::uint64_t count;
  std::string_view crc;  // as a hexadecimal number; empty where the vectors give none
  std::string_view sha256;
};

// Vectors, section 3.
const Golden k_golden[] = {
    {{1, 7}, 0, 0, "a405955a", "49f479c6d76ec695ccdaec9383a1dc532d9246f3cbda3daa0bb1b4a86c1b3f74"},
    {{1, 7}, 300, 316, "", "7f20618e7a3e127d866d8b977ec1dbf8dda353241eb266442246c7e090576db3"},
    {{3, 3},
     600,
     616,
     "0ae56ced",
     "b6c91efe97f97caa03d2aebee3c9adb24a1e0c67d5ba5e4ebed0830ba66b4664"},
    {{3, 4},
     450,
     466,
     "9a47046a",
     "f82f65b54eadcb517af9667b5f4ce623b5675e9fa9c75cef0724811410b01ab6"},
    {{3, 5},
     360,
     376,
     "55b7828a",
     "4cd34f31582c81281a1d6089dbad9ea336c260ce6b76d7345240a7cbc33c7fbe"},
    {{3, 6},
     300,
     316,
     "2b667c64",
     "c45370a839d89ab8c51a680e69b89f3a42bbc78e52e12b2f496bf0e1ab30ecc8"},
    {{3, 7},
     257,
     273,
     "9ebcc559",
     "ac78d12ffad066308f76c84b3cb62854dff47777ce89acee32e47ace16a46285"},
    {{3, 8},
     225,
     241,
     "513d4dea",
     "2e8d1e52455e6594974963e9184a8a4959aaab779fd57aef6189c5f8ed72ef9c"},
    {{3, 9},
     200,
     216,
     "ac6b21a5",
     "21f3e37342749004225c8da9ce316b67d33add3990f7ec14f40eb8726695f876"},
    {{3, 10},
     180,
     196,
     "48b50104",
     "7c17dea347c8ca01665ad42f173a0d723fe9ac47604ee583a00d0e3809b90dc4"},
    {{3, 11},
     163,
     179,
     "a610f9c8",
     "3dda49aade9f1ad74ecf25854f5980b6ae2285df9d10a1742a1427a0a928eda2"},
    {{3, 12},
     150,
     166,
     "68d2bf66",
     "b12eea802b766affa4122a45f18e369c5cc544ba107076a611d0f93f2705e6a3"},
    {{3, 13},
     138,
     154,
     "24238e8d",
     "43b935ff589557d141e40ca144326b8a465175b5406c6393674cd945b074e906"},
    {{3, 14},
     128,
     144,
     "3a6d5634",
     "e1eb3bd8334ffd06ee01f750731fab2622af21fdb4b10edce0e13450276fa6d9"},
    {{3, 15},
     120,
     136,
     "354cd194",
     "6183536b5be40f307e9783ec566ea84c2e3e5cfed23cf77548b3e5849303ce15"},
    {{3, 16},
     112,
     128,
     "7105bdca",
     "1b07c85cc4cdce3175f242c3a63a24401a967e9cdf9e3285eee0dc03744d7c38"},
    {{3, 17},
     105,
     121,
     "1366e217",
     "a2fc71f8cf9eccc5a2c7f962db73d2374df7b6166964f21eb8e428bb5446be59"},
    {{212, 7},
     10000,
     10016,
     "",
     "e7bcfb681cb8943f87dd08303439a3ea99a78d57fd4236b950af7dc4129040b5"},
    {{1009, 10},
     50000,
     50016,
     "",
     "86b031495e3280022e5a5e501848be3c8952217e3568a2abb9cfa3dea65acfc9"},
};

TEST(BloomBuilder, GoldenFilters) {
  for (const Golden& golden : k_golden) {
    const base::Bytes blob =
        marshalled(golden_filter(golden.parameters, golden.members, golden.count != 0));
    EXPECT_EQ(base::to_hex(base::sha256(blob)), golden.sha256);
    EXPECT_EQ(blob.size(), golden.parameters.blob_bytes());
    if (!golden.crc.empty()) {
      const std::uint32_t crc = base::u32le(blob.data() + blob.size() - 4);
      EXPECT_EQ(to_text(Number::hex32(crc)),
                to_text(Number::hex32(
                    static_cast<std::uint32_t>(std::stoul(std::string(golden.crc), nullptr, 16)))));
    }
    const auto view = BloomView::parse(blob);
    ASSERT_TRUE(view);
    EXPECT_EQ(view->count(), golden.count);
    EXPECT_EQ(view->parameters(), golden.parameters);
    for (unsigned i = 0; i < golden.members; ++i) {
      EXPECT_TRUE(view->may_contain(BloomKey::of(golden_key("member", i))));
    }
  }
}

TEST(BloomView, GoldenFalsePositives) {
  const base::Bytes blob = marshalled(golden_filter({3, 10}, 180, true));
  const auto view = BloomView::parse(blob);
  ASSERT_TRUE(view);
  base::Bytes answers(30);
  for (unsigned i = 0; i < 240; ++i) {
    if (view->may_contain(BloomKey::of(golden_key("probe", i)))) {
      answers[i / 8] |= static_cast<std::byte>(1U << (i % 8));
    }
  }
  EXPECT_EQ(base::to_hex(answers),
            "0001000028200000200000080000000000000008000000000000"
            "08802000");
}

TEST(BloomView, RefusesInTheOrderOfTheSpec) {
  BloomBuilder builder({2, 11});
  builder.insert(BloomKey::of(k_did_a));
  const base::Bytes good = marshalled(builder);
  ASSERT_TRUE(BloomView::parse(good));

  const auto reseal = [](base::Bytes& blob) {
    const std::uint32_t crc = base::crc32c(base::ByteSpan(blob).first(blob.size() - 4));
    base::store_le(blob.data() + blob.size() - 4, crc);
  };
  const auto word = [](const base::Bytes& blob) -> std::string {
    const auto view = BloomView::parse(blob);
    return view ? "" : view.error().word;
  };
  for (std::size_t size = 0; size < good.size(); ++size) {
    const base::Bytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(word(cut), size < 25 ? k_bloom_too_short : k_bloom_length);
  }
  base::Bytes longer = good;
  longer.push_back({});
  EXPECT_EQ(word(longer), k_bloom_length);

  const auto changed = [&](std::size_t at, std::uint8_t value) {
    base::Bytes blob = good;
    blob[at] = static_cast<std::byte>(value);
    reseal(blob);
    return word(blob);
  };
  EXPECT_EQ(changed(0, 2), k_bloom_version_unknown);
  EXPECT_EQ(changed(1, 2), k_bloom_hash_count);
  EXPECT_EQ(changed(1, 18), k_bloom_hash_count);
  EXPECT_EQ(changed(4, 1), k_bloom_hash_count);
  EXPECT_EQ(changed(5, 0), k_bloom_block_count);
  EXPECT_EQ(changed(12, 0x80), k_bloom_block_count);
  EXPECT_EQ(changed(5, 3), k_bloom_length);
  EXPECT_EQ(changed(11, 4), k_bloom_block_count);  // 2^50 + 2
  for (std::size_t at = 0; at < good.size(); ++at) {
    base::Bytes blob = good;
    blob[at] ^= std::byte{0x01};
    EXPECT_NE(word(blob), "") << "bit 0 of byte " << at;
  }
}

// Vectors, section 4.
TEST(BloomParameters, OfTheVectors) {
  const auto is = [](std::uint64_t n, std::uint64_t blocks, std::uint32_t k) {
    EXPECT_EQ(bloom_parameters(n), (BloomParameters{blocks, k})) << "n = " << n;
    EXPECT_EQ(bloom_parameters(n), (BloomParameters{blocks, k})) << "remembered, n = " << n;
  };
  is(0, 1, 15);
  is(1, 1, 15);
  is(32, 1, 9);
  is(33, 2, 11);
  is(100, 4, 11);
  is(270, 10, 11);
  is(271, 10, 9);
  is(284, 10, 9);
  is(285, 9, 9);
  is(4096, 131, 9);
  is(10'000, 317, 9);
  is(100'000, 3161, 9);
  is(200'000, 6320, 9);
  is(1'000'000, 31593, 9);
  EXPECT_EQ(bloom_parameters(1'000'000).blob_bytes(), 2021977U);
  const BloomParameters hundredth = compute_bloom_parameters(10'000, 0.01);
  EXPECT_EQ(hundredth, (BloomParameters{212, 7}));
  EXPECT_NEAR(expected_bloom_rate(hundredth, 10'000), 0.006942917985635868, 1e-12);
  EXPECT_NEAR(expected_bloom_rate({1, 15}, 1), 1.5059733891578126e-14, 1e-24);
  EXPECT_NEAR(expected_bloom_rate({131, 9}, 4096), 0.000819475967136466, 1e-13);
  EXPECT_EQ(compute_bloom_parameters(10, 0), compute_bloom_parameters(10, 0.0001));
  EXPECT_EQ(compute_bloom_parameters(10, 1), compute_bloom_parameters(10, 0.99));
}

TEST(BloomParameters, OfThePublishedTable) {
  std::ifstream table(VARVE_TEST_SHARED_DIR "/fixtures/jss/gloom_params_fpr0.001.tsv");
  if (!table) {
    GTEST_SKIP() << "the shared fixtures are absent";
  }
  std::string line;
  std::getline(table, line);
  std::uint64_t rows = 0;
  while (std::getline(table, line)) {
    std::istringstream fields(line);
    std::uint64_t first = 0, last = 0, blocks = 0, blob_bytes = 0;
    std::uint32_t k = 0;
    ASSERT_TRUE(fields >> first >> last >> blocks >> k >> blob_bytes) << line;
    for (const std::uint64_t n : {first, (first + last) / 2, last}) {
      EXPECT_EQ(bloom_parameters(n), (BloomParameters{blocks, k})) << "n = " << n;
    }
    EXPECT_EQ(bloom_parameters(first).blob_bytes(), blob_bytes);
    ++rows;
  }
  EXPECT_GT(rows, 100U);
}

// Filters of 1,000 random sizes: nothing inserted is denied, and the share of others that pass is
// at or under the rate, within five standard deviations.
TEST(BloomBuilder, RandomFiltersKeepTheRate) {
  std::mt19937_64 random(20260704);
  std::uint64_t probes = 0;
  std::uint64_t passed = 0;
  for (std::uint64_t round = varve::test::scaled(1000); round > 0; --round) {
    const std::uint64_t items = 1 + random() % (std::uint64_t{1} << (random() % 12));
    BloomBuilder builder(bloom_parameters(items));
    std::vector<BloomKey> inside;
    for (std::uint64_t i = 0; i < items; ++i) {
      inside.push_back(BloomKey::of("did:plc:" + std::to_string(random()) + std::to_string(i)));
      builder.insert(inside.back());
    }
    const base::Bytes blob = marshalled(builder);
    const auto view = BloomView::parse(blob);
    ASSERT_TRUE(view);
    for (const BloomKey& key : inside) {
      ASSERT_TRUE(view->may_contain(key));
    }
    for (int i = 0; i < 500; ++i) {
      passed += view->may_contain(BloomKey::of("did:web:" + std::to_string(random()))) ? 1U : 0U;
      ++probes;
    }
  }
  const double rate = static_cast<double>(passed) / static_cast<double>(probes);
  const double deviation = std::sqrt(k_bloom_rate / static_cast<double>(probes));
  EXPECT_LE(rate, k_bloom_rate + 5 * deviation);
}

}  // namespace
}  // namespace varve::jss
