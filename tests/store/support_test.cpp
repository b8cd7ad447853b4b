// SPDX-License-Identifier: MIT OR Apache-2.0
#include "tests/support.hpp"

namespace varve::test {
namespace {

TEST(Support, RunsACommandWithInputAndCapturesAllThreeResults) {
  RunOptions options;
  options.input = std::string(300'000, 'x');
  options.environment = {{"VARVE_PROBE", "seen"}};
  const RunResult result =
      run_command({"sh", "-c", "cat; echo \"$VARVE_PROBE\" >&2; exit 5"}, options);
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_EQ(result.out, options.input);
  EXPECT_EQ(result.err, "seen\n");
  EXPECT_EQ(run_command({"sh", "-c", "kill -9 $$"}).exit_code, 137);
}

TEST(Support, CopiesAreWritableAndScratchIsRemoved) {
  fs::path kept;
  {
    const ScratchDirectory scratch;
    kept = scratch.path();
    fs::create_directory(scratch / "a");
    write_file(scratch / "a/file", "content");
    fs::permissions(scratch / "a/file", fs::perms::owner_read);
    copy_tree(scratch / "a", scratch / "b");
    EXPECT_NE(fs::status(scratch / "b/file").permissions() & fs::perms::owner_write,
              fs::perms::none);
    EXPECT_EQ(read_file(scratch / "b/file"), "content");
    const std::string before = tree_snapshot(scratch / "b");
    EXPECT_EQ(tree_snapshot(scratch / "b"), before);
    write_file(scratch / "b/file", "changed");
    EXPECT_NE(tree_snapshot(scratch / "b"), before);
  }
  EXPECT_FALSE(fs::exists(kept));
}

}  // namespace
}  // namespace varve::test
