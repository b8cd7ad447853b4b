// SPDX-License-Identifier: MIT OR Apache-2.0
// What only the simulated file system does: faults, traces, hooks, bystanders, its own clock.
#include "io/simulated.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "base/bytes.hpp"
#include "io/crash.hpp"

namespace varve::io {
namespace {

using base::as_bytes;
using base::as_text;

std::string text_of(SimulatedFileSystem& files, const std::string& path) {
  const auto bytes = files.get(path);
  return bytes ? std::string(as_text(*bytes)) : "missing";
}

// What a power cut right now leaves that loses everything it may.
std::unique_ptr<SimulatedFileSystem> after_total_loss(const SimulatedFileSystem& files) {
  const simulated::Recording recording = files.recording();
  const auto state = make_crash(
      recording,
      {CrashKind::power_cut, static_cast<std::uint32_t>(recording.events.size()), true, {}});
  return state->restart();
}

TEST(SimulatedFileSystem, FailsTheCallThatWasAskedForOnce) {
  SimulatedFileSystem files;
  auto file = files.open_file("/a", OpenMode::create);
  files.set_fault(Fault{1, FaultKind::io_error, false, mask_of(CallKind::write)});
  EXPECT_TRUE((*file)->write_at(as_bytes("one"), 0));
  EXPECT_EQ((*file)->write_at(as_bytes("two"), 0).error().system_errno, EIO);
  EXPECT_EQ(files.faults_met(), 1U);
  EXPECT_EQ(text_of(files, "/a"), "one");
  EXPECT_EQ((*file)->write_at(as_bytes("two"), 0).error().code, ErrorCode::poisoned);
  auto again = files.open_file("/a", OpenMode::read_write);
  EXPECT_TRUE((*again)->write_at(as_bytes("two"), 0));
}

TEST(SimulatedFileSystem, FailsForGood) {
  SimulatedFileSystem files;
  ASSERT_TRUE(files.put("/a", as_bytes("text")));
  files.set_fault(Fault{1, FaultKind::no_space, true, k_all_calls});
  auto file = files.open_file("/a", OpenMode::read);
  ASSERT_TRUE(file);
  std::byte buffer[4];
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ((*file)->read_at(buffer, 0).error().system_errno, ENOSPC);
  }
  EXPECT_FALSE(files.open_directory("/"));
  files.set_fault(std::nullopt);
  EXPECT_TRUE((*file)->read_at(buffer, 0));
}

TEST(SimulatedFileSystem, AShortWriteLeavesHalf) {
  SimulatedFileSystem files;
  auto file = files.open_file("/a", OpenMode::create);
  files.set_fault(Fault{0, FaultKind::short_write, false, mask_of(CallKind::write)});
  EXPECT_EQ((*file)->write_at(as_bytes("12345678"), 0).error().system_errno, ENOSPC);
  EXPECT_EQ(text_of(files, "/a"), "1234");
}

TEST(SimulatedFileSystem, AFailedSyncLosesWhatReadsStillShow) {
  SimulatedFileSystem files;
  ASSERT_TRUE(files.put("/a", as_bytes("old")));
  files.settle();
  auto file = files.open_file("/a", OpenMode::read_write);
  ASSERT_TRUE((*file)->write_at(as_bytes("new"), 0));
  files.set_fault(Fault{0, FaultKind::io_error, false, mask_of(CallKind::sync)});
  EXPECT_FALSE((*file)->data_sync());
  EXPECT_EQ(text_of(files, "/a"), "new");
  auto again = files.open_file("/a", OpenMode::read_write);
  EXPECT_TRUE((*again)->data_sync());  // says yes, and nothing was saved
  EXPECT_EQ(text_of(*after_total_loss(files), "/a"), "old");
  // What is written and synced afterwards is saved.
  ASSERT_TRUE((*again)->write_at(as_bytes("nEW"), 0));
  ASSERT_TRUE((*again)->data_sync());
  EXPECT_EQ(text_of(*after_total_loss(files), "/a"), "nEW");
}

TEST(SimulatedFileSystem, AFailedDirectorySyncLosesNames) {
  SimulatedFileSystem files;
  auto root = files.open_directory("/");
  auto file = (*root)->open_file("a", OpenMode::create);
  ASSERT_TRUE((*file)->sync());
  files.set_fault(Fault{0, FaultKind::io_error, false, mask_of(CallKind::directory_sync)});
  EXPECT_FALSE((*root)->sync());
  EXPECT_TRUE((*root)->sync());
  EXPECT_EQ(text_of(*after_total_loss(files), "/a"), "missing");
}

TEST(SimulatedFileSystem, SyncOfAFileDoesNotSaveItsName) {
  SimulatedFileSystem files;
  auto root = files.open_directory("/");
  auto file = (*root)->open_file("a", OpenMode::create);
  ASSERT_TRUE((*file)->write_at(as_bytes("text"), 0));
  ASSERT_TRUE((*file)->sync());
  EXPECT_EQ(text_of(*after_total_loss(files), "/a"), "missing");
  ASSERT_TRUE((*root)->sync());
  EXPECT_EQ(text_of(*after_total_loss(files), "/a"), "text");
}

TEST(SimulatedFileSystem, TracesCalls) {
  SimulatedFileSystem files;
  ASSERT_TRUE(files.put("/d/a", as_bytes("text")));
  files.set_trace(true);
  auto directory = files.open_directory("/d");
  auto file = (*directory)->open_file("a", OpenMode::read_write);
  ASSERT_TRUE((*file)->write_at(as_bytes("x"), 0));
  ASSERT_TRUE((*file)->data_sync());
  std::string seen;
  for (const Call& call : files.trace()) {
    seen += std::string(to_text(call.kind)) + " " + call.path + "\n";
  }
  EXPECT_EQ(seen, "open /d\nopen /d/a\nwrite /d/a\nsync /d/a\n");
}

TEST(SimulatedFileSystem, TheHookChangesThingsUnderAReader) {
  SimulatedFileSystem files;
  ASSERT_TRUE(files.put("/a", as_bytes("0123456789")));
  auto file = files.open_file("/a", OpenMode::read);
  int calls = 0;
  files.set_hook([&](const Call& call) {
    ++calls;
    if (call.kind == CallKind::read) {
      ASSERT_TRUE(files.set_size("/a", 3));
      (void)files.identity_of("/a");  // a bystander's call: no hook within the hook
    }
  });
  std::byte buffer[10];
  EXPECT_EQ((*file)->identity()->size_bytes, 10U);
  EXPECT_EQ(*(*file)->read_at(buffer, 0), 3U);
  EXPECT_EQ(calls, 2);
}

TEST(SimulatedFileSystem, ListsAndCopiesTrees) {
  SimulatedFileSystem from;
  ASSERT_TRUE(from.put("/store/a", as_bytes("A")));
  ASSERT_TRUE(from.put("/store/sub/b", as_bytes(std::string(300'000, 'b'))));
  ASSERT_TRUE(from.add_directory("/store/empty"));
  SimulatedFileSystem to;
  ASSERT_TRUE(to.copy_from(from, "/store", "/copy"));
  EXPECT_EQ(to.paths("/copy"), (std::vector<std::string>{"a", "empty/", "sub/", "sub/b"}));
  EXPECT_EQ(text_of(to, "/copy/sub/b"), std::string(300'000, 'b'));
  ASSERT_TRUE(from.erase("/store/sub"));
  EXPECT_EQ(from.paths("/store"), (std::vector<std::string>{"a", "empty/"}));
  EXPECT_FALSE(from.erase("/store/sub"));
}

TEST(SimulatedFileSystem, HashesWhatCanBeSeen) {
  SimulatedFileSystem a;
  SimulatedFileSystem b;
  ASSERT_TRUE(a.put("/x", as_bytes("1")));
  ASSERT_TRUE(a.put("/y", as_bytes("2")));
  ASSERT_TRUE(b.put("/y", as_bytes("2")));
  EXPECT_NE(a.hash(), b.hash());
  ASSERT_TRUE(b.put("/x", as_bytes("1")));
  EXPECT_EQ(a.hash(), b.hash());
  ASSERT_TRUE(b.put("/x", as_bytes("3")));
  EXPECT_NE(a.hash(), b.hash());
  // A hole and zeros read alike.
  ASSERT_TRUE(a.set_size("/x", 9000));
  ASSERT_TRUE(b.put("/x", as_bytes("1" + std::string(8999, '\0'))));
  EXPECT_EQ(a.hash(), b.hash());
}

TEST(SimulatedFileSystem, FollowsLinksInPaths) {
  SimulatedFileSystem files;
  ASSERT_TRUE(files.put("/d/e/f", as_bytes("text")));
  ASSERT_TRUE(files.add_symlink("/up", "d/e"));
  ASSERT_TRUE(files.add_symlink("/d/e/back", "../../d"));
  ASSERT_TRUE(files.add_symlink("/loop", "/loop"));
  EXPECT_EQ(text_of(files, "/up/f"), "text");
  EXPECT_EQ(text_of(files, "/up/back/e/../e/./f"), "text");
  EXPECT_EQ(files.open_file("/loop", OpenMode::read).error().system_errno, ELOOP);
  EXPECT_EQ(files.open_file("/loop/f", OpenMode::read).error().system_errno, ELOOP);
}

TEST(SimulatedFileSystem, TimesAndNumbersRepeat) {
  const auto run = [] {
    SimulatedFileSystem files;
    auto file = files.open_file("/a", OpenMode::create);
    EXPECT_TRUE((*file)->write_at(as_bytes("x"), 0));
    const FileIdentity first = *(*file)->identity();
    EXPECT_TRUE((*file)->write_at(as_bytes("y"), 0));
    EXPECT_GT((*file)->identity()->modified_ns, first.modified_ns);
    return std::tuple(first.inode, first.modified_ns, first.changed_ns);
  };
  EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace varve::io
