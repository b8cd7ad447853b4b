// SPDX-License-Identifier: MIT OR Apache-2.0
// The independent reader of tests/oracle, written from the specification alone, reads what Varve
// writes: formats 2, 3 and 4, several segments, several generations.
#include <cstdlib>

#include "tests/support.hpp"
#include "transactions.hpp"
#include "varve/arena.hpp"
#include "view_support.hpp"
#include "writer_support.hpp"

namespace varve::arena {
namespace {

using namespace test;

class ArenaOracle : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  std::string path(const char* name) const { return (scratch_ / name).string(); }
  CreateOptions creation(bool bare) const {
    CreateOptions options;
    options.version = GetParam();
    options.bare = bare;
    return options;
  }
  std::string oracle(const char* name, std::vector<std::string> options) const {
    std::vector<std::string> command = {
        "/usr/bin/python3", VARVE_TEST_SOURCE_DIR "/tests/oracle/read_arena.py", path(name)};
    command.insert(command.end(), options.begin(), options.end());
    const auto result = varve::test::run_command(command);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    return result.out;
  }
  std::string lines(const char* name, Face face) const {
    const auto view = open_view(files_, path(name));
    ScanRequest request;
    request.face = face;
    std::string out;
    for (const std::string& line : scan(*view, request).lines) {
      out += line + "\n";
    }
    return out;
  }
  static std::string first_difference(const std::string& a, const std::string& b) {
    const std::size_t at = static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
    const std::size_t line = at == 0 ? 0 : a.rfind('\n', at - 1) + 1;
    return a == b ? "" : a.substr(line, 400) + "\n---\n" + b.substr(line, 400);
  }
  void expect_agreement(const char* name) const {
    EXPECT_EQ(first_difference(oracle(name, {"--cat"}), lines(name, Face::log)), "");
    EXPECT_EQ(first_difference(oracle(name, {"--state"}), lines(name, Face::state)), "");
  }

  varve::test::ScratchDirectory scratch_;
  io::FileSystem& files_ = io::posix_file_system();
};

TEST_P(ArenaOracle, ReadsTransactionsBeforeAndAfterCompactions) {
  ASSERT_TRUE(create_store(files_, path("store"), creation(false)));
  Transactions source(GetParam(), false);
  JournalOptions options;
  options.sync_each = false;
  for (int round = 0; round < 3; ++round) {
    const auto journal = Journal::open(files_, path("store"), options).value();
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(journal->append(base::as_bytes(source.next())));
    }
    ASSERT_TRUE(journal->close());
    expect_agreement("store");
    const auto again = Journal::open(files_, path("store"), options).value();
    ASSERT_TRUE(again->compact());
    ASSERT_TRUE(again->close());
    expect_agreement("store");
  }
}

// A real rollover. With VARVE_ARENA_LARGE set also where a segment has 1 GiB.
TEST_P(ArenaOracle, ReadsSeveralSegments) {
  const bool large = GetParam() != 3;
  if (large && std::getenv("VARVE_ARENA_LARGE") == nullptr) {
    GTEST_SKIP() << "set VARVE_ARENA_LARGE to fill a segment of 1 GiB";
  }
  ASSERT_TRUE(create_store(files_, path("arena"), creation(true)));
  JournalOptions options;
  options.sync_each = false;
  const auto journal = Journal::open(files_, path("arena"), options).value();
  const std::uint64_t piece = large ? k_max_payload_bytes : 30'000'000;
  for (std::uint64_t seed = 1; journal->end().segment < 2; ++seed) {
    ASSERT_TRUE(append(*journal, noise(piece, seed)));
    ASSERT_TRUE(append(*journal, payload_text(seed)));
    if (large && journal->end().segment == 1) break;
  }
  const JournalEnd end = journal->end();
  ASSERT_TRUE(journal->close());
  const std::string frames = oracle("arena", {});
  const auto view = open_view(files_, path("arena"));
  EXPECT_EQ(static_cast<std::uint64_t>(std::count(frames.begin(), frames.end(), '\n')),
            static_cast<std::uint64_t>(view->info()->units.value_or(0)));
  EXPECT_NE(frames.find("\"segment\":1"), std::string::npos) << frames.substr(0, 300);
  EXPECT_EQ(verify(*view).report.verdict, Verdict::clean);
  EXPECT_GT(end.segment, 0U);
}

INSTANTIATE_TEST_SUITE_P(Formats, ArenaOracle, ::testing::Values(2, 3, 4), [](const auto& tested) {
  return "Format" + std::to_string(tested.param);
});

}  // namespace
}  // namespace varve::arena
