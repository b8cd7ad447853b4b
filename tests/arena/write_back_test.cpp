// SPDX-License-Identifier: MIT OR Apache-2.0
// Opening for writing: what is written back, and what must be left alone (sections 6 and 7 of the
// vectors).
#include <gtest/gtest.h>

#include "writer_support.hpp"

namespace varve::arena {
namespace {

using namespace test;

constexpr Geometry k_small{3, 1024, 1024};

// An arena whose only segment begins with these bytes.
void put_segment(io::SimulatedFileSystem& files, const std::string& bytes) {
  put(files, "/arena/format.json", small_manifest(k_small));
  put(files, "/arena/seg_0.bin", bytes);
  ASSERT_TRUE(files.set_size("/arena/seg_0.bin", k_small.segment_bytes).has_value());
}

std::vector<std::string> saved(io::SimulatedFileSystem& files) {
  std::vector<std::string> out;
  for (const std::string& path : files.paths("/arena/lost+found")) {
    out.push_back(text_of_file(files, path.starts_with('/') ? path : "/arena/lost+found/" + path));
  }
  return out;
}

std::string segment(io::SimulatedFileSystem& files) {
  return text_of_file(files, "/arena/seg_0.bin");
}

// Section 6, image for k = 20: the marker, then clearing, the bytes kept aside.
TEST(ArenaWriteBack, ATornTailIsMarkedClearedAndKeptAside) {
  io::SimulatedFileSystem files;
  const std::string torn = patched(two_frames(), 63, frame("third frame", 2).substr(0, 20));
  put_segment(files, torn);
  const auto journal = must_open(files, "/arena", k_small);
  ASSERT_TRUE(journal);
  EXPECT_EQ(journal->opening().tail, "torn tail");
  EXPECT_EQ(journal->opening().torn_reason, "crc");
  EXPECT_EQ(segment(files).substr(63, 32), marker() + zeros(16));
  EXPECT_EQ(find_nonzero(base::as_bytes(std::string_view(segment(files)).substr(79))),
            k_small.segment_bytes - 79);
  ASSERT_EQ(saved(files).size(), 1U);
  EXPECT_EQ(saved(files)[0], torn.substr(63));
  ASSERT_TRUE(append(*journal, "again").has_value());
  EXPECT_EQ(segment(files).substr(63, 37),
            hex("fc 5b a1 93 05 00 00 00 05 00 00 00 02 00 00 00 61 67 61 69 6e"
                "00 00 00 00 00 00 00 00 00 00 00 00 4c 44 4e 45"));
}

// An append whose header page was lost; its payload and stale marker are behind the old marker.
TEST(ArenaWriteBack, RemainsBehindTheMarkerAreCleared) {
  io::SimulatedFileSystem files;
  const std::string whole = patched(two_frames(), 63, frame("third frame", 2) + marker());
  put_segment(files, patched(whole, 63, marker()));
  {
    const auto journal = must_open(files, "/arena", k_small);
    EXPECT_EQ(journal->opening().tail, "end marker");
    EXPECT_EQ(segment(files).substr(0, 79), two_frames());
    EXPECT_EQ(saved(files).size(), 1U);
  }
  // The next append torn after 18 bytes is a torn tail and no committed damage.
  put_segment(files, patched(two_frames(), 63, frame("again", 2).substr(0, 18)));
  const auto journal = must_open(files, "/arena", k_small);
  ASSERT_TRUE(journal);
  EXPECT_EQ(journal->opening().torn_reason, "crc");
}

TEST(ArenaWriteBack, AFrameBehindTheEndIsNotTouchedWithoutConsent) {
  io::SimulatedFileSystem files;
  const std::string hidden = patched(three_frames(), 21, marker());
  put_segment(files, hidden);
  const std::string before = segment(files);
  {
    const auto journal = must_open(files, "/arena", k_small);
    ASSERT_TRUE(journal);
    EXPECT_TRUE(journal->opening().frames_behind_end);
    EXPECT_TRUE(journal->opening().written.actions.empty());
    EXPECT_EQ(append(*journal, "over it").error().reason, "frames-behind-end");
    EXPECT_EQ(segment(files), before);
  }
  JournalOptions options = quiet_options();
  options.discard_frames_behind_end = true;
  const auto journal = must_open(files, "/arena", k_small, options);
  ASSERT_EQ(saved(files).size(), 1U);
  EXPECT_TRUE(saved(files)[0].find("third frame") != std::string::npos);
  EXPECT_TRUE(append(*journal, "over it").has_value());
  EXPECT_EQ(read_log(files, "/arena", k_small).size(), 2U);
}

// Nothing of the store is changed where opening fails.
TEST(ArenaWriteBack, CommittedDamageIsRefusedAndLeftAlone) {
  io::SimulatedFileSystem files;
  put_segment(files, flipped(three_frames(), 79, 1));
  const std::string before = segment(files);
  const auto journal = open_journal(files, "/arena", quiet_options(), k_small);
  ASSERT_FALSE(journal.has_value());
  EXPECT_EQ(journal.error().reason, "corrupt-committed");
  EXPECT_EQ(journal.error().offset, 63U);
  EXPECT_EQ(journal.error().code, ErrorCode::damaged);
  EXPECT_EQ(segment(files), before);
  EXPECT_TRUE(saved(files).empty());
}

TEST(ArenaWriteBack, TrimmedSegmentsAreExtended) {
  io::SimulatedFileSystem files;
  put(files, "/arena/format.json", small_manifest(k_small_growing));
  put(files, "/arena/seg_0.bin", two_frames());
  put(files, "/arena/seg_1.bin", frame("tail", 7));
  const auto journal = must_open(files, "/arena", k_small_growing);
  ASSERT_TRUE(journal);
  EXPECT_EQ(files.get("/arena/seg_0.bin")->size(), 2048U);
  EXPECT_EQ(files.get("/arena/seg_1.bin")->size(), 512U);
  EXPECT_EQ(journal->opening().written.actions.size(), 2U);
  EXPECT_EQ(append(*journal, "next")->seq, 8U);
}

TEST(ArenaWriteBack, ACleanOpenWritesNothing) {
  io::SimulatedFileSystem files;
  put_segment(files, three_frames());
  put(files, "/arena/.hms.lock", "pid=4242\n");
  io::FixedEnvironment environment;
  const std::uint64_t before = files.hash();
  {
    const auto journal = must_open(files, "/arena", k_small, quiet_options(&environment));
    EXPECT_TRUE(journal->opening().written.actions.empty());
  }
  EXPECT_EQ(files.hash(), before);
}

TEST(ArenaWriteBack, GapsAndOversizedSegmentsAreRefused) {
  {
    io::SimulatedFileSystem files;
    put_segment(files, three_frames());
    put(files, "/arena/seg_2.bin", "");
    EXPECT_EQ(open_journal(files, "/arena", quiet_options(), k_small).error().reason,
              "segment-gap");
  }
  io::SimulatedFileSystem files;
  put_segment(files, three_frames());
  ASSERT_TRUE(files.set_size("/arena/seg_0.bin", k_small.segment_bytes + 1).has_value());
  EXPECT_EQ(open_journal(files, "/arena", quiet_options(), k_small).error().reason,
            "oversized-segment");
}

}  // namespace
}  // namespace varve::arena
