// SPDX-License-Identifier: MIT OR Apache-2.0
#include "io/publish.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>

#include "base/bytes.hpp"
#include "io/crash.hpp"
#include "io/fixed_environment.hpp"

namespace varve::io {
namespace {

using base::as_bytes;
using base::as_text;

class PublishTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(files_.put("/d/name", as_bytes("old")));
    files_.settle();
    directory_ = std::move(*files_.open_directory("/d"));
  }
  std::string text(const std::string& path) {
    const auto bytes = files_.get(path);
    return bytes ? std::string(as_text(*bytes)) : "missing";
  }
  SimulatedFileSystem files_;
  FixedEnvironment environment_;
  std::unique_ptr<Directory> directory_;
};

TEST_F(PublishTest, ReplacesAndLeavesNothingBehind) {
  ASSERT_TRUE(publish_bytes(*directory_, "name", as_bytes("new"), Replace::yes, environment_));
  EXPECT_EQ(text("/d/name"), "new");
  EXPECT_EQ(files_.paths("/d"), std::vector<std::string>{"name"});
}

TEST_F(PublishTest, RefusesToReplaceWhenToldSo) {
  const auto refused =
      publish_bytes(*directory_, "name", as_bytes("new"), Replace::no, environment_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().system_errno, EEXIST);
  EXPECT_EQ(text("/d/name"), "old");
  EXPECT_EQ(files_.paths("/d"), std::vector<std::string>{"name"});
  ASSERT_TRUE(publish_bytes(*directory_, "other", as_bytes("new"), Replace::no, environment_));
  EXPECT_EQ(text("/d/other"), "new");
}

TEST_F(PublishTest, EveryCrashLeavesTheOldOrTheNewWhole) {
  ASSERT_TRUE(publish_bytes(*directory_, "name", as_bytes(std::string(2000, 'n')), Replace::yes,
                            environment_));
  files_.mark(1);
  std::set<std::string> seen;
  const CrashReport report =
      for_each_crash(files_.recording(), CrashOptions{}, [&](const CrashState& state) {
        const auto bytes = state.restart()->get("/d/name");
        EXPECT_TRUE(bytes) << to_text(state.selection);
        const std::string now = bytes ? std::string(as_text(*bytes)) : "";
        EXPECT_TRUE(now == std::string(2000, 'n') || (now == "old" && state.marks[0] == 0))
            << to_text(state.selection);
        seen.insert(now);
        return true;
      });
  EXPECT_EQ(seen.size(), 2U);
  EXPECT_TRUE(report.exhaustive());
}

TEST_F(PublishTest, EveryFailingCallLeavesTheOldOrTheNewWhole) {
  for (std::uint64_t call = 0;; ++call) {
    SCOPED_TRACE(call);
    files_.set_fault(Fault{call, FaultKind::short_write, false, k_all_calls});
    const auto published =
        publish_bytes(*directory_, "name", as_bytes("new!"), Replace::yes, environment_);
    const bool met = files_.faults_met() > 0;
    files_.set_fault(std::nullopt);
    if (!met) {
      EXPECT_TRUE(published);
      EXPECT_EQ(call, 5U);  // create, write, sync, rename, sync of the directory
      break;
    }
    EXPECT_FALSE(published);
    EXPECT_TRUE(text("/d/name") == "old" || text("/d/name") == "new!");
    EXPECT_EQ(files_.paths("/d"), std::vector<std::string>{"name"});
    ASSERT_TRUE(files_.put("/d/name", as_bytes("old")));
  }
}

TEST_F(PublishTest, KeepLeavesTheStageLying) {
  {
    auto staged = StagedFile::create(*directory_, "stage");
    ASSERT_TRUE(staged);
    staged->keep();
    EXPECT_FALSE(StagedFile::create(*directory_, "stage"));
  }
  EXPECT_EQ(text("/d/stage"), "");
}

TEST(StagingName, HasItsPartsAndRepeatsWithTheSeed) {
  FixedEnvironment a(0, 0, 5);
  FixedEnvironment b(0, 0, 5);
  FixedEnvironment c(0, 0, 6);
  const std::string name = staging_name(a, ".tay-new-7-");
  EXPECT_EQ(name.size(), std::string(".tay-new-7-").size() + 16 + 4);
  EXPECT_TRUE(name.starts_with(".tay-new-7-"));
  EXPECT_TRUE(name.ends_with(".tmp"));
  EXPECT_EQ(staging_name(b, ".tay-new-7-"), name);
  EXPECT_NE(staging_name(c, ".tay-new-7-"), name);
  EXPECT_NE(staging_name(a, ".tay-new-7-"), name);
}

TEST(FixedEnvironment, MovesAsItIsTold) {
  FixedEnvironment environment(1'000'000, 500);
  EXPECT_EQ(environment.now_ns(), 1'000'000);
  EXPECT_EQ(environment.now_ns(), 1'000'500);
  environment.advance_ns(1'000'000);
  EXPECT_EQ(environment.now_us(), 2001);
  environment.set_now_ns(7000);
  EXPECT_EQ(environment.now_us(), 7);
  EXPECT_EQ(environment.process_id(), 4242U);
}

}  // namespace
}  // namespace varve::io
