// SPDX-License-Identifier: MIT OR Apache-2.0
#include <gtest/gtest.h>

#include "io/simulated.hpp"
#include "tests/support.hpp"
#include "varve/file_system.hpp"

namespace varve::io {
namespace {

void check(FileSystem& files, const std::string& path) {
  auto first = files.open_file(path, OpenMode::read_write);
  auto second = files.open_file(path, OpenMode::read);
  ASSERT_TRUE(first && second);
  EXPECT_FALSE((*second)->locked_elsewhere());
  ASSERT_TRUE((*first)->lock(LockKind::exclusive));
  EXPECT_TRUE((*second)->locked_elsewhere());
  EXPECT_FALSE((*first)->locked_elsewhere());
  // Asking took nothing and lost nothing.
  EXPECT_FALSE((*second)->lock(LockKind::exclusive));
  ASSERT_TRUE((*first)->unlock());
  EXPECT_FALSE((*second)->locked_elsewhere());
}

TEST(LockedElsewhere, OnTheSystem) {
  if (!std::filesystem::exists("/proc/locks")) {
    GTEST_SKIP() << "this system shows no table of locks";
  }
  const test::ScratchDirectory scratch;
  test::write_file(scratch / "lock", "");
  check(posix_file_system(), (scratch / "lock").string());
}

TEST(LockedElsewhere, OnTheSimulatedFileSystem) {
  SimulatedFileSystem files;
  ASSERT_TRUE(files.put("/lock", {}));
  check(files, "/lock");
}

}  // namespace
}  // namespace varve::io
