// SPDX-License-Identifier: MIT OR Apache-2.0
// The independent reader of tests/oracle, written from the specification alone, reads what Varve
// writes: the same log and the same state, in both dialects, flushed, unfolded, closed.
#include "tests/kladde/naive.hpp"

namespace varve::kladde::test {
namespace {

using varve::test::run_command;
using varve::test::run_tool;
using varve::test::ScratchDirectory;

class Oracle : public ::testing::TestWithParam<std::pair<Dialect, Shape>> {
 protected:
  std::string read(const char* what) const {
    const auto result =
        run_command({"/usr/bin/python3", VARVE_TEST_SOURCE_DIR "/tests/oracle/read_kladde.py",
                     path_, what, "--dialect", letter()});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    return result.out;
  }
  std::string tool(const char* verb) const {
    const auto result = run_tool({verb, "--dialect", letter(), path_});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  }
  std::string letter() const { return GetParam().first == Dialect::b ? "b" : "a"; }
  void expect_agreement(const Naive& naive) {
    const std::string state = read("--state");
    EXPECT_TRUE(state == tool("state"));
    EXPECT_TRUE(read("--log") == tool("cat"));
    EXPECT_EQ(static_cast<std::size_t>(std::count(state.begin(), state.end(), '\n')),
              naive.contents.size());
    const auto opened = open_strictly(io::posix_file_system(), path_, GetParam().first);
    ASSERT_TRUE(opened) << opened.error().text();
    EXPECT_EQ(difference(opened->recovered, naive.contents), "");
  }

  ScratchDirectory scratch_;
  std::string path_ = (scratch_ / "store.kladde").string();
};

TEST_P(Oracle, ReadsWhatVarveWrites) {
  io::FileSystem& files = io::posix_file_system();
  StoreOptions options;
  options.dialect = GetParam().first;
  must(Store::create(files, path_));
  RandomRecords records(61, GetParam().second);
  Naive naive;
  for (int run = 0; run < 4; ++run) {
    const auto store = must(Store::open(files, path_, options));
    for (int round = 0; round < 12; ++round) {
      for (int commits = 0; commits < 10; ++commits) {
        Transaction transaction;
        for (std::uint32_t i = 0, count = 1 + records.below(5); i < count; ++i) {
          records.add(transaction, naive);
        }
        must(store->commit(transaction));
      }
      if (round % 4 != 3) {
        must(store->flush());
      }
    }
    if (run % 2 == 1) {
      must(store->close());
    }
    expect_agreement(naive);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Oracle,
                         ::testing::Values(std::pair{Dialect::a, Shape{}},
                                           std::pair{Dialect::b, Shape{}},
                                           std::pair{Dialect::a, Shape{3000, 80, 40}},
                                           std::pair{Dialect::b, Shape{3000, 80, 40}}),
                         [](const auto& tested) {
                           return std::string(tested.param.second.ids > 100 ? "Many" : "Few") +
                                  (tested.param.first == Dialect::a ? "InDialectA" : "InDialectB");
                         });

}  // namespace
}  // namespace varve::kladde::test
