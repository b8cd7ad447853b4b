// SPDX-License-Identifier: MIT OR Apache-2.0
// The program's verbs for broken and for growing stores.
#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "tests/support.hpp"

namespace varve::test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string fixture(const std::string& relative) {
  return shared_path("fixtures/" + relative).string();
}

TEST(Program, SalvageRehearsesThenWrites) {
  VARVE_REQUIRE_SHARED();
  const ScratchDirectory scratch;
  const std::string hurt =
      copy_tree(fixture("jss/invalid/block_bit_flipped.jss"), scratch / "hurt.jss").string();
  const std::string whole = (scratch / "whole.jss").string();
  const std::string before = tree_snapshot(scratch / "hurt.jss");
  const RunResult rehearsal = run_tool({"salvage", hurt});
  EXPECT_EQ(rehearsal.exit_code, 2);
  EXPECT_THAT(rehearsal.out, HasSubstr("a rehearsal, nothing was written"));
  EXPECT_THAT(rehearsal.out, HasSubstr("between 4 and 10"));
  EXPECT_THAT(rehearsal.out, HasSubstr("kept 7 records"));
  EXPECT_FALSE(fs::exists(whole));

  EXPECT_EQ(run_tool({"salvage", "--max-loss", "1%", hurt, "-o", whole}).exit_code, 2);
  EXPECT_FALSE(fs::exists(whole));
  EXPECT_EQ(run_tool({"salvage", "--max-loss", "much", hurt, "-o", whole}).exit_code, 64);
  EXPECT_EQ(run_tool({"salvage", "--max-loss", "101%", hurt}).exit_code, 64);

  const RunResult written = run_tool({"salvage", "--max-loss", "50%", hurt, "-o", whole});
  EXPECT_EQ(written.exit_code, 2) << written.err;
  EXPECT_EQ(run_tool({"verify", whole}).exit_code, 0);
  EXPECT_EQ(lines_of(run_tool({"cat", whole}).out).size(), 7U);
  EXPECT_TRUE(fs::exists(whole + ".lost+found/salvage.json"));
  EXPECT_TRUE(fs::exists(whole + ".lost+found/file-at-643.bin"));
  EXPECT_EQ(tree_snapshot(scratch / "hurt.jss"), before);
  // What is there is never replaced.
  EXPECT_EQ(run_tool({"salvage", hurt, "-o", whole}).exit_code, 73);
  EXPECT_EQ(run_tool({"salvage", (scratch / "nothing").string()}).exit_code, 66);
  EXPECT_EQ(run_tool({"salvage", fixture("jss/golden_seal.jss")}).exit_code, 0);
  EXPECT_EQ(run_tool({"salvage", fixture("jss/invalid/version_2.jss")}).exit_code, 3);
  EXPECT_EQ(run_tool({"salvage", "--renumber", hurt}).exit_code, 64);
}

TEST(Program, DiffTellsWhatAStoreLacks) {
  VARVE_REQUIRE_SHARED();
  const ScratchDirectory scratch;
  const std::string hurt = fixture("jss/invalid/block_bit_flipped.jss");
  const std::string good = fixture("jss/all_kinds.jss");
  const std::string whole = (scratch / "whole.jss").string();
  ASSERT_EQ(run_tool({"salvage", hurt, "-o", whole}).exit_code, 2);
  const RunResult same = run_tool({"diff", good, good});
  EXPECT_EQ(same.exit_code, 0);
  EXPECT_THAT(same.out, HasSubstr("log: 12 rows the same, 0 only in A, 0 only in B"));
  const RunResult differs = run_tool({"diff", "--only", "log", good, whole});
  EXPECT_EQ(differs.exit_code, 4);
  EXPECT_THAT(differs.out, HasSubstr("log: 7 rows the same, 5 only in A, 0 only in B"));
  const RunResult json = run_tool({"diff", "--json", "--only", "log", whole, good});
  EXPECT_EQ(json.exit_code, 4);
  const auto lines = lines_of(json.out);
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_THAT(lines.front(), HasSubstr("\"only_in\":\"b\""));
  EXPECT_THAT(lines.back(), HasSubstr("\"log\":{\"same\":7,\"only_a\":0,\"only_b\":5}"));
  EXPECT_THAT(run_tool({"diff", "--brief", good, whole}).out, Not(HasSubstr("- {")));
  // No difference was seen, but not all could be seen.
  EXPECT_EQ(run_tool({"diff", hurt, hurt}).exit_code, 2);
  EXPECT_EQ(run_tool({"diff", good, fixture("kladde/01-empty.kladde")}).exit_code, 64);
}

TEST(Program, DiffFindsARowThatCameInBetween) {
  const ScratchDirectory scratch;
  const std::string a = (scratch / "a").string();
  const std::string b = (scratch / "b").string();
  const auto line = [](int n) {
    return R"({"payload":{"$bytes":"AA)" + std::string(1, static_cast<char>('A' + n)) + "A\"}}\n";
  };
  std::string all;
  std::string some;
  for (int i = 0; i < 20; ++i) {
    all += line(i);
    if (i != 7 && i != 12) some += line(i);
  }
  for (const auto& [store, text] : {std::pair{a, all}, {b, some}}) {
    ASSERT_EQ(run_tool({"init", "--format", "arena", "--bare", store}).exit_code, 0);
    RunOptions options;
    options.input = text;
    ASSERT_EQ(run_tool({"append", store}, options).exit_code, 0);
  }
  // Their numbers differ from the eighth on: that is not what a person wants to know.
  const RunResult result = run_tool({"diff", "--only", "log", a, b});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.out, HasSubstr("log: 18 rows the same, 2 only in A, 0 only in B"));
}

// Every record of a log that grows, once, in order.
void expect_followed(const std::string& store, const std::string& format,
                     const std::vector<std::string>& inputs, bool seal) {
  RunResult followed;
  std::thread follower([&] {
    followed = run_tool({"follow", "--limit", std::to_string(inputs.size()), "--idle-exit", "300",
                         "--payload", "none", store});
  });
  for (const std::string& input : inputs) {
    std::this_thread::sleep_for(std::chrono::milliseconds(120));
    RunOptions options;
    options.input = input;
    EXPECT_EQ(run_tool({"append", store}, options).exit_code, 0);
    if (seal) {
      EXPECT_EQ(run_tool({"seal", store}).exit_code, 0);
    }
  }
  follower.join();
  EXPECT_EQ(followed.exit_code, 0) << followed.err;
  EXPECT_EQ(followed.err, "");
  EXPECT_EQ(lines_of(followed.out).size(), inputs.size()) << format << '\n' << followed.out;
  const auto cat = lines_of(run_tool({"cat", "--payload", "none", store}).out);
  const auto seen = lines_of(followed.out);
  ASSERT_EQ(seen.size(), cat.size());
  for (std::size_t i = 0; i < cat.size(); ++i) {
    // All but the place, which sealing does not change either.
    EXPECT_EQ(seen[i], cat[i]);
  }
}

TEST(Program, FollowPrintsWhatIsAppended) {
  const ScratchDirectory scratch;
  const std::string arena = (scratch / "arena").string();
  ASSERT_EQ(run_tool({"init", "--format", "arena", "--bare", arena}).exit_code, 0);
  const std::string payload = "{\"payload\":{\"$bytes\":\"AAAA\"}}\n";
  expect_followed(arena, "arena", {payload, payload, payload, payload}, false);

  const std::string jss = (scratch / "archive").string();
  fs::create_directory(jss);
  ASSERT_EQ(run_tool({"init", "--format", "jss", jss}).exit_code, 0);
  std::vector<std::string> rows;
  for (int i = 1; i <= 4; ++i) {
    rows.push_back("{\"witnessed_at\":" + std::to_string(i) +
                   ",\"indexed_at\":0,\"kind\":\"delete\",\"did\":\"did:plc:a\",\"collection\":"
                   "\"a.b.c\",\"rkey\":\"k\",\"rev\":\"r\",\"record\":null}\n");
  }
  expect_followed(jss, "jss", rows, true);
  // From a sequence on, and so many.
  const RunResult some = run_tool({"follow", "--from", "2", "--limit", "2", jss});
  EXPECT_EQ(some.exit_code, 0);
  const auto lines = lines_of(some.out);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_THAT(lines.front(), HasSubstr("{\"seq\":2,"));
}

}  // namespace
}  // namespace varve::test
