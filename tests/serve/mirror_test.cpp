// SPDX-License-Identifier: MIT OR Apache-2.0
// Mirrors: what is fetched, what is put in place, what is left alone.
#include "serve/mirror.hpp"

#include <algorithm>

#include "serve/mirror_directory.hpp"
#include "tests/serve/remote_support.hpp"

namespace varve::serve::test {
namespace {

namespace fs = std::filesystem;
using varve::test::read_file;
using varve::test::write_file;
using Fate = MirroredSegment::Fate;

class MirrorTest : public ::testing::Test {
 protected:
  MirrorOptions small_parts() const {
    MirrorOptions options;
    options.part_bytes = 8 << 10;
    return options;
  }

  Result<MirrorReport> try_mirror(MirrorOptions options) {
    VARVE_ASSIGN(const auto mirror,
                 Mirror::open(io::posix_file_system(), io::system_environment(), server_.url(),
                              copy_.string(), quick_options(), std::move(options)));
    return mirror->round();
  }
  MirrorReport mirror(MirrorOptions options) {
    auto report = try_mirror(std::move(options));
    EXPECT_TRUE(report) << report.error().text();
    return report ? *std::move(report) : MirrorReport{};
  }
  MirrorReport mirror() { return mirror(small_parts()); }

  // The sealed segments of both are the same files.
  void expect_same() {
    for (const std::string& name : names()) {
      ASSERT_TRUE(fs::exists(copy_ / name)) << name;
      EXPECT_EQ(read_file(copy_ / name), read_file(archive_ / name)) << name;
    }
    EXPECT_EQ(varve::test::run_tool({"verify", copy_.string()}).exit_code, 0);
  }
  static std::vector<std::string> names() {
    return {"seg_0000000000.jss", "seg_0000000001.jss", "seg_0000000002.jss", "seg_0000000003.jss"};
  }
  std::vector<std::string> left_in_work() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(copy_ / k_mirror_work_directory)) {
      out.push_back(entry.path().filename().string());
    }
    std::ranges::sort(out);
    return out;
  }
  std::uint64_t bytes_of_all() const {
    std::uint64_t out = 0;
    for (const std::string& name : names()) {
      out += fs::file_size(archive_ / name);
    }
    return out;
  }

  ScratchDirectory scratch_;
  fs::path archive_ = make_archive(scratch_ / "archive");
  fs::path copy_ = scratch_ / "copies" / "a";
  ArchiveServer server_{archive_};
};

using varve::test::run_tool;

TEST_F(MirrorTest, FetchesEachByteOnceAndThenNothing) {
  const MirrorReport first = mirror();
  EXPECT_EQ(first.segments, 4U);
  EXPECT_EQ(first.present, 0U);
  ASSERT_EQ(first.changes.size(), 4U);
  EXPECT_EQ(first.changes[2].name, "seg_0000000002.jss");
  EXPECT_EQ(first.changes[2].fate, Fate::added);
  EXPECT_EQ(first.bytes_fetched, bytes_of_all());
  EXPECT_EQ(server_.segment_bytes(), bytes_of_all());
  EXPECT_LE(server_.most_at_once(), 8U);
  EXPECT_EQ(left_in_work(), (std::vector<std::string>{"lock", "segments"}));
  expect_same();

  const MirrorReport second = mirror();
  EXPECT_EQ(second.present, 4U);
  EXPECT_TRUE(second.changes.empty());
  EXPECT_EQ(server_.segment_bytes(), bytes_of_all());
}

TEST_F(MirrorTest, AnInterruptedRoundIsGoneOnWith) {
  for (int round = 0; round < 5; ++round) {
    MirrorOptions options = small_parts();
    std::atomic<int> pieces = 0;
    options.interrupted = [&] { return ++pieces > 12; };
    const MirrorReport report = mirror(options);
    if (!report.interrupted) {
      break;
    }
  }
  const MirrorReport last = mirror();
  EXPECT_FALSE(last.interrupted);
  expect_same();
  // What a round loses of a part is less than a piece, here as large as a part.
  EXPECT_LE(server_.segment_bytes(), bytes_of_all() + 5 * 8 * small_parts().part_bytes);
}

TEST_F(MirrorTest, CompactedSegmentsAreReplaced) {
  mirror();
  ASSERT_TRUE(jss::compact(io::posix_file_system(), archive_.string()));
  const MirrorReport report = mirror();
  EXPECT_FALSE(report.changes.empty());
  for (const MirroredSegment& change : report.changes) {
    EXPECT_EQ(change.fate, Fate::replaced);
  }
  expect_same();
}

TEST_F(MirrorTest, CompactionInTheMiddleOfADownloadBeginsItAgain) {
  bool compacted = false;
  server_.tamper([&](const Asked& asked, Answer&) {
    if (asked.service == "getSegment" && asked.number == 3 && !compacted) {
      compacted = true;
      EXPECT_TRUE(jss::compact(io::posix_file_system(), archive_.string()));
    }
  });
  mirror();
  ASSERT_TRUE(compacted);
  mirror();
  expect_same();
}

TEST_F(MirrorTest, WhatVanishesIsKeptUnlessPruned) {
  mirror();
  fs::remove(archive_ / "seg_0000000001.jss");
  const MirrorReport kept = mirror();
  ASSERT_EQ(kept.changes.size(), 1U);
  EXPECT_EQ(kept.changes[0].fate, Fate::kept);
  EXPECT_TRUE(fs::exists(copy_ / "seg_0000000001.jss"));

  MirrorOptions options = small_parts();
  options.prune = true;
  const MirrorReport pruned = mirror(options);
  ASSERT_EQ(pruned.changes.size(), 1U);
  EXPECT_EQ(pruned.changes[0].fate, Fate::pruned);
  EXPECT_FALSE(fs::exists(copy_ / "seg_0000000001.jss"));
  EXPECT_TRUE(mirror(options).changes.empty());
}

TEST_F(MirrorTest, FilesThatAreNotItsOwnAreNeverTouched) {
  fs::create_directories(copy_);
  write_file(copy_ / "seg_0000000001.jss", "mine");
  write_file(copy_ / "seg_0000000009.jss", "mine too");
  write_file(copy_ / "notes.txt", "and this");
  fs::create_directory(copy_ / "seg_0000000002.jss");
  fs::create_symlink(copy_ / "notes.txt", copy_ / "seg_0000000003.jss");
  MirrorOptions options = small_parts();
  options.prune = true;
  const MirrorReport report = mirror(options);
  ASSERT_EQ(report.changes.size(), 4U);
  EXPECT_EQ(report.changes[0].fate, Fate::added);
  for (int i = 1; i < 4; ++i) {
    EXPECT_EQ(report.changes[i].fate, Fate::foreign);
  }
  EXPECT_EQ(read_file(copy_ / "seg_0000000001.jss"), "mine");
  EXPECT_EQ(read_file(copy_ / "seg_0000000009.jss"), "mine too");
  EXPECT_EQ(read_file(copy_ / "notes.txt"), "and this");
  EXPECT_TRUE(fs::is_symlink(copy_ / "seg_0000000003.jss"));

  // An own file that somebody has changed is theirs now.
  std::string changed = read_file(copy_ / "seg_0000000000.jss");
  changed[5] ^= 1;
  write_file(copy_ / "seg_0000000000.jss", changed);
  EXPECT_EQ(mirror(options).changes[0].fate, Fate::foreign);
  EXPECT_EQ(read_file(copy_ / "seg_0000000000.jss"), changed);
}

TEST_F(MirrorTest, WhatIsNotCleanIsNotPutInPlace) {
  mirror();
  // A segment whose rows do not decode, behind a footer that is right.
  std::string hurt = read_file(archive_ / "seg_0000000002.jss");
  hurt[900] ^= 4;
  write_file(archive_ / "seg_0000000002.jss", hurt);
  fs::remove(copy_ / "seg_0000000002.jss");
  const MirrorReport report = mirror();
  ASSERT_EQ(report.changes.size(), 1U);
  EXPECT_EQ(report.changes[0].fate, Fate::failed);
  ASSERT_TRUE(report.changes[0].error);
  EXPECT_EQ(exit_code(*report.changes[0].error), 2);
  ASSERT_FALSE(report.changes[0].findings.empty());
  EXPECT_EQ(report.changes[0].findings[0].file, "seg_0000000002.jss");
  EXPECT_FALSE(fs::exists(copy_ / "seg_0000000002.jss"));
  EXPECT_EQ(left_in_work(), (std::vector<std::string>{"lock", "segments"}));
}

TEST_F(MirrorTest, WhatAnEarlierRunLeftIsNotBelieved) {
  MirrorOptions options = small_parts();
  std::atomic<int> pieces = 0;
  options.interrupted = [&] { return ++pieces > 6; };
  ASSERT_TRUE(mirror(options).interrupted);
  // As after a power cut: the state is there, the bytes are zeros; and states of all sorts.
  const fs::path work = copy_ / k_mirror_work_directory;
  for (const std::string& name : left_in_work()) {
    if (name.ends_with(".part")) {
      write_file(work / name, std::string(fs::file_size(work / name), '\0'));
    }
  }
  write_file(work / "seg_0000000003.state", "varve-parts 1 99999999999999999999 8192 \"x\"\n");
  write_file(work / "seg_0000000003.part", "");
  write_file(work / "seg_000000000z.jss.part", "of a segment that is gone");
  mirror();
  expect_same();
}

TEST_F(MirrorTest, ServersWithoutETagsOrRangesAreMirrored) {
  server_.tamper([](const Asked& asked, Answer& answer) {
    if (asked.service == "getSegment") {
      answer.drop("ETag");
    }
  });
  mirror();
  expect_same();
  fs::remove_all(copy_);
  server_.tamper([this](const Asked& asked, Answer& answer) {
    if (asked.service == "getSegment") {
      answer.status = 200;
      answer.drop("Content-Range");
      answer.body = read_file(archive_ / asked.query.at("name"));
      if (asked.number % 2 == 0) {
        answer.cut_after = answer.body.size() / 2;
      }
    }
  });
  mirror();
  expect_same();
}

TEST_F(MirrorTest, WhatPassesIsTriedAgainWithoutFetchingTwice) {
  server_.tamper([](const Asked& asked, Answer& answer) {
    if (asked.service == "getSegment" && asked.number % 3 == 0) {
      answer.cut_after = answer.body.size() / 2;
    } else if (asked.service == "getSegment" && asked.number % 3 == 1) {
      answer = Answer::error(429, "TooManyRequests");
      answer.set("Retry-After", "0");
    }
  });
  const MirrorReport report = mirror();
  EXPECT_EQ(report.bytes_fetched, bytes_of_all());
  expect_same();
}

TEST_F(MirrorTest, RefusesHugeSegments) {
  server_.tamper([](const Asked& asked, Answer& answer) {
    if (asked.service == "getSegment") {
      answer.set("Content-Range", "bytes 0-8191/2000000000");
    }
  });
  const MirrorReport report = mirror();
  ASSERT_FALSE(report.changes.empty());
  ASSERT_TRUE(report.changes[0].error);
  EXPECT_EQ(report.changes[0].error->code, ErrorCode::limit);
  EXPECT_EQ(left_in_work(), (std::vector<std::string>{"lock", "segments"}));
}

TEST_F(MirrorTest, AGoneServerEndsTheRoundAfterAFewSegments) {
  server_.tamper([](const Asked& asked, Answer& answer) {
    if (asked.service == "getSegment") {
      answer.cut_after = 0;
    }
  });
  const MirrorReport report = mirror();
  EXPECT_TRUE(report.error);
  EXPECT_EQ(report.changes.size(), 3U);
}

TEST_F(MirrorTest, OneMirrorADirectoryAndOneAddress) {
  const auto first = Mirror::open(io::posix_file_system(), io::system_environment(), server_.url(),
                                  copy_.string(), quick_options(), {});
  ASSERT_TRUE(first);
  const auto second = try_mirror({});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::locked);

  ArchiveServer other(archive_);
  const auto elsewhere = Mirror::open(io::posix_file_system(), io::system_environment(),
                                      other.url(), (scratch_ / "b").string(), quick_options(), {});
  ASSERT_TRUE(elsewhere);
  const auto confused = Mirror::open(io::posix_file_system(), io::system_environment(),
                                     server_.url(), (scratch_ / "b").string(), quick_options(), {});
  EXPECT_FALSE(confused);
}

}  // namespace
}  // namespace varve::serve::test
