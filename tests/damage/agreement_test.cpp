// SPDX-License-Identifier: MIT OR Apache-2.0
// Whatever way a record is asked for, it is the same record: `cat`, `follow` and `get` of whole and
// of hurt stores. (Serial, parallel, filtered, backwards: random_damage_test.cpp; salvage:
// salvage_test.cpp.)
#include <gtest/gtest.h>

#include "tests/damage/sample_stores.hpp"
#include "tests/support.hpp"

namespace varve::test {
namespace {

struct Asked {
  std::string store;   // below fixtures/
  std::string member;  // the file to hurt; empty: the store
  std::uint64_t hurt = 0;
  std::string key;  // what stands before the number that `get` takes; empty: no such number
  std::string prefix;
};

class Agreement : public ::testing::TestWithParam<Asked> {};

void expect_agreement(const std::string& store, const Asked& asked) {
  const std::vector<std::string> all = lines_of(run_tool({"cat", store}).out);
  ASSERT_FALSE(all.empty());
  const auto followed = run_tool({"follow", "--limit", std::to_string(all.size()), store});
  EXPECT_EQ(lines_of(followed.out), all) << "follow";
  const std::size_t step = all.size() / 10 + 1;
  for (std::size_t i = 0; i < all.size() && !asked.key.empty(); i += step) {
    const std::size_t at = all[i].find(asked.key);
    ASSERT_NE(at, std::string::npos) << all[i];
    const std::size_t digits = at + asked.key.size();
    const std::string number =
        all[i].substr(digits, all[i].find_first_not_of("0123456789", digits) - digits);
    const auto got = run_tool({"get", store, asked.prefix + number});
    EXPECT_EQ(lines_of(got.out), std::vector<std::string>{all[i]}) << "get " << number;
  }
}

TEST_P(Agreement, CatFollowAndGetTellTheSame) {
  VARVE_REQUIRE_SHARED();
  const Asked& asked = GetParam();
  const ScratchDirectory scratch;
  const fs::path copy = copy_tree(shared_path("fixtures/" + asked.store), scratch / "store");
  expect_agreement(copy.string(), asked);
  const fs::path file = asked.member.empty() ? copy : copy / asked.member;
  std::string bytes = read_file(file);
  ASSERT_LT(asked.hurt, bytes.size());
  bytes[asked.hurt] = static_cast<char>(bytes[asked.hurt] ^ 0x10);
  write_file(file, bytes);
  EXPECT_EQ(run_tool({"verify", copy.string()}).exit_code, 2);
  expect_agreement(copy.string(), asked);
}

INSTANTIATE_TEST_SUITE_P(
    Damage, Agreement,
    ::testing::Values(
        Asked{"arena/a-plain-zero-end", "vectors_data.bin/seg_0.bin", 100, "\"global\":", "@"},
        Asked{"arena/b-txn2-format2", "vectors_data.bin/seg_0.bin", 400, "\"global\":", "@"},
        Asked{"kladde/04-journal-all-records.kladde", "", 12'300, "", ""},
        Asked{"tay/stores/valid/highest-sealed", "segments/00000000000000000001.tay", 600,
              "{\"seq\":", ""},
        Asked{"tay/stores/valid/lifecycle", "segments/00000000000000000001.tay", 600,
              "{\"seq\":", ""},
        Asked{"jss/all_kinds.jss", "", 700, "{\"seq\":", ""},
        Asked{"jss/golden_corpus_segment.jss", "", 400, "{\"seq\":", ""},
        Asked{"jss/active.jss", "", 700, "{\"seq\":", ""}),
    [](const auto& param) { return test_name(param.param.store); });

}  // namespace
}  // namespace varve::test
