// SPDX-License-Identifier: MIT OR Apache-2.0
#include "io/crash.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <map>
#include <set>

#include "base/bytes.hpp"
#include "base/checksum.hpp"

namespace varve::io {
namespace {

using base::as_bytes;
using base::as_text;

std::string text_of(SimulatedFileSystem& files, const std::string& path) {
  const auto bytes = files.get(path);
  return bytes ? std::string(as_text(*bytes)) : "missing";
}

// All contents that /a can have after a crash of that kind at the end.
std::set<std::string> contents(const SimulatedFileSystem& files, CrashKind kind,
                               const std::string& path = "/a") {
  std::set<std::string> out;
  CrashOptions options;
  options.only_last_point = true;
  for_each_crash(files.recording(), options, [&](const CrashState& state) {
    if (state.selection.kind == kind) {
      out.insert(text_of(*state.restart(), path));
    }
    return true;
  });
  return out;
}

class CrashTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(files_.put("/a", as_bytes("old")));
    files_.settle();
    file_ = std::move(*files_.open_file("/a", OpenMode::read_write));
    root_ = std::move(*files_.open_directory("/"));
  }
  SimulatedFileSystem files_;
  std::unique_ptr<File> file_;
  std::unique_ptr<Directory> root_;
};

TEST_F(CrashTest, DataAndLengthAreSeparate) {
  ASSERT_TRUE(file_->write_at(as_bytes("new"), 3));
  EXPECT_EQ(contents(files_, CrashKind::power_cut),
            (std::set<std::string>{"old", "oldnew", std::string("old\0\0\0", 6)}));
  EXPECT_EQ(contents(files_, CrashKind::kill), (std::set<std::string>{"oldnew"}));
  ASSERT_TRUE(file_->data_sync());
  EXPECT_EQ(contents(files_, CrashKind::power_cut), (std::set<std::string>{"oldnew"}));
}

TEST_F(CrashTest, WritesAreUnordered) {
  ASSERT_TRUE(file_->write_at(as_bytes("O"), 0));
  ASSERT_TRUE(file_->write_at(as_bytes("D"), 2));
  EXPECT_EQ(contents(files_, CrashKind::power_cut),
            (std::set<std::string>{"old", "Old", "olD", "OlD"}));
}

TEST_F(CrashTest, TheLastWriteKeptWins) {
  ASSERT_TRUE(file_->write_at(as_bytes("1"), 0));
  ASSERT_TRUE(file_->write_at(as_bytes("2"), 0));
  EXPECT_EQ(contents(files_, CrashKind::power_cut), (std::set<std::string>{"old", "1ld", "2ld"}));
}

TEST_F(CrashTest, ACutMayBeLost) {
  ASSERT_TRUE(file_->truncate(1));
  EXPECT_EQ(contents(files_, CrashKind::power_cut), (std::set<std::string>{"old", "o"}));
  ASSERT_TRUE(file_->truncate(2));
  EXPECT_EQ(contents(files_, CrashKind::power_cut),
            (std::set<std::string>{"old", "o", std::string("o\0", 2), "ol"}));
}

TEST_F(CrashTest, AWriteTearsAtSectors) {
  const std::string zeros(1536, '0');
  ASSERT_TRUE(files_.put("/a", as_bytes(zeros)));
  files_.settle();
  const std::string ones(1536, '1');
  ASSERT_TRUE(file_->write_at(as_bytes(ones), 0));
  std::set<std::string> patterns;
  for (const std::string& content : contents(files_, CrashKind::power_cut)) {
    ASSERT_EQ(content.size(), 1536U);
    std::string pattern;
    for (std::size_t sector = 0; sector < 3; ++sector) {
      const std::string part = content.substr(sector * 512, 512);
      ASSERT_EQ(part, std::string(512, part[0]));  // never torn within a sector
      pattern += part[0];
    }
    patterns.insert(pattern);
  }
  EXPECT_EQ(patterns, (std::set<std::string>{"000", "100", "110", "011", "001", "101", "111"}));
}

TEST_F(CrashTest, SectorsAreThoseOfTheFile) {
  ASSERT_TRUE(files_.put("/a", as_bytes(std::string(1024, '0'))));
  files_.settle();
  ASSERT_TRUE(file_->write_at(as_bytes("111111"), 510));
  std::set<std::string> parts;
  for (const std::string& content : contents(files_, CrashKind::power_cut)) {
    parts.insert(content.substr(509, 8));
  }
  EXPECT_EQ(parts, (std::set<std::string>{"00000000", "01100000", "00011110", "01111110"}));
}

TEST_F(CrashTest, AKillKeepsALeadingPartOfTheWriteItInterrupts) {
  ASSERT_TRUE(file_->write_at(as_bytes(std::string(1200, 'x')), 0));
  std::set<std::size_t> sizes;
  for (const std::string& content : contents(files_, CrashKind::kill)) {
    EXPECT_EQ(content, std::string(content.size(), 'x'));
    sizes.insert(content.size());
  }
  EXPECT_EQ(sizes, (std::set<std::size_t>{512, 1024, 1200}));
}

TEST_F(CrashTest, NamesBelongToTheDirectory) {
  auto fresh = root_->open_file("b", OpenMode::create);
  ASSERT_TRUE((*fresh)->write_at(as_bytes("B"), 0));
  EXPECT_EQ(contents(files_, CrashKind::power_cut, "/b"),
            (std::set<std::string>{"missing", "", "B", std::string(1, '\0')}));
  ASSERT_TRUE((*fresh)->sync());
  EXPECT_EQ(contents(files_, CrashKind::power_cut, "/b"), (std::set<std::string>{"missing", "B"}));
  ASSERT_TRUE(root_->sync());
  EXPECT_EQ(contents(files_, CrashKind::power_cut, "/b"), (std::set<std::string>{"B"}));
}

TEST_F(CrashTest, ARenameIsAllOrNothing) {
  ASSERT_TRUE(files_.put("/b", as_bytes("new")));
  files_.settle();
  ASSERT_TRUE(root_->rename("b", *root_, "a"));
  std::set<std::pair<std::string, std::string>> states;
  CrashOptions options;
  for_each_crash(files_.recording(), options, [&](const CrashState& state) {
    const auto after = state.restart();
    states.emplace(text_of(*after, "/a"), text_of(*after, "/b"));
    return true;
  });
  EXPECT_EQ(states,
            (std::set<std::pair<std::string, std::string>>{{"old", "new"}, {"new", "missing"}}));
}

TEST_F(CrashTest, AMoveBetweenDirectoriesNeverLosesBothNames) {
  ASSERT_TRUE(files_.add_directory("/d"));
  files_.settle();
  auto directory = files_.open_directory("/d");
  ASSERT_TRUE(root_->rename("a", **directory, "a"));
  const auto states = [&] {
    std::set<std::pair<std::string, std::string>> out;
    for_each_crash(files_.recording(), CrashOptions{}, [&](const CrashState& state) {
      const auto after = state.restart();
      out.emplace(text_of(*after, "/a"), text_of(*after, "/d/a"));
      return true;
    });
    return out;
  };
  const std::set<std::pair<std::string, std::string>> expected = {
      {"old", "missing"}, {"old", "old"}, {"missing", "old"}};
  EXPECT_EQ(states(), expected);
  ASSERT_TRUE(root_->sync());  // the name that goes takes the one that comes along
  CrashOptions last;
  last.only_last_point = true;
  last.kills = false;
  std::set<std::string> left;
  for_each_crash(files_.recording(), last, [&](const CrashState& state) {
    left.insert(text_of(*state.restart(), "/d/a"));
    return true;
  });
  EXPECT_EQ(left, std::set<std::string>{"old"});
}

TEST_F(CrashTest, ALostWriteNeverCoversALaterDurableOne) {
  ASSERT_TRUE(file_->write_at(as_bytes("ZZZ"), 0));
  files_.set_fault(Fault{0, FaultKind::io_error, false, mask_of(CallKind::sync)});
  EXPECT_FALSE(file_->sync());
  auto again = files_.open_file("/a", OpenMode::read_write);
  ASSERT_TRUE((*again)->write_at(as_bytes("YY"), 0));
  ASSERT_TRUE((*again)->sync());
  EXPECT_EQ(contents(files_, CrashKind::power_cut), (std::set<std::string>{"YYd", "YYZ"}));
}

TEST_F(CrashTest, MarksTellWhatWasPromised) {
  ASSERT_TRUE(file_->write_at(as_bytes("1"), 0));
  ASSERT_TRUE(file_->data_sync());
  files_.mark(1);
  ASSERT_TRUE(file_->write_at(as_bytes("2"), 0));
  ASSERT_TRUE(file_->data_sync());
  files_.mark(2);
  std::map<std::uint64_t, std::set<std::string>> seen;
  for_each_crash(files_.recording(), CrashOptions{}, [&](const CrashState& state) {
    seen[state.marks[0]].insert(text_of(*state.restart(), "/a"));
    return true;
  });
  EXPECT_EQ(seen[0], (std::set<std::string>{"old", "1ld"}));
  EXPECT_EQ(seen[1], (std::set<std::string>{"1ld", "2ld"}));
  EXPECT_EQ(seen[2], (std::set<std::string>{"2ld"}));
}

TEST_F(CrashTest, HoldsTheBoundOfThree) {
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(files_.put("/f" + std::to_string(i), as_bytes("0")));
  }
  files_.settle();
  for (int i = 0; i < 8; ++i) {
    auto file = files_.open_file("/f" + std::to_string(i), OpenMode::read_write);
    ASSERT_TRUE((*file)->write_at(as_bytes("1"), 0));
  }
  CrashOptions options;
  options.only_last_point = true;
  options.kills = false;
  std::set<int> kept;
  const CrashReport report = for_each_crash(files_.recording(), options, [&](const auto& state) {
    const auto after = state.restart();
    int bits = 0;
    for (int i = 0; i < 8; ++i) {
      bits |= text_of(*after, "/f" + std::to_string(i)) == "1" ? 1 << i : 0;
    }
    EXPECT_TRUE(kept.insert(bits).second) << "shown twice";
    return true;
  });
  std::set<int> expected;
  for (int bits = 0; bits < 256; ++bits) {
    const int ones = std::popcount(static_cast<unsigned>(bits));
    if (ones <= 3 || ones >= 5 || std::has_single_bit(static_cast<unsigned>(bits + 1))) {
      expected.insert(bits);
    }
  }
  EXPECT_EQ(kept, expected);  // 2 * (1 + 8 + 28 + 56) sets, and the prefix of four
  EXPECT_EQ(report.states, 187U);
  EXPECT_TRUE(report.exhaustive());
}

TEST_F(CrashTest, SameSeedSameStatesAndEachCanBeMadeAgain) {
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(file_->write_at(as_bytes(std::string(600, static_cast<char>('a' + i))), 500 * i));
  }
  const simulated::Recording recording = files_.recording();
  const auto run = [&](std::uint64_t seed) {
    CrashOptions options;
    options.seed = seed;
    options.max_candidates = 3000;
    std::vector<std::pair<std::string, std::uint64_t>> out;
    const CrashReport report = for_each_crash(recording, options, [&](const CrashState& state) {
      out.emplace_back(to_text(state.selection), hash_tree(state.image));
      return true;
    });
    EXPECT_FALSE(report.exhaustive());
    EXPECT_GT(report.sampled_points, 0U);
    EXPECT_LE(report.candidates, 3000U + recording.events.size() * 3);
    return out;
  };
  const auto first = run(7);
  EXPECT_EQ(first, run(7));
  EXPECT_NE(first, run(8));
  for (std::size_t i = 0; i < first.size(); i += 17) {
    const auto selection = parse_crash(first[i].first);
    ASSERT_TRUE(selection) << first[i].first;
    const auto state = make_crash(recording, *selection);
    ASSERT_TRUE(state);
    EXPECT_EQ(hash_tree(state->image), first[i].second) << first[i].first;
  }
}

TEST(CrashText, RoundTripsAndRefusesNonsense) {
  for (const std::string text :
       {"power 12 drop 3,5:head2", "kill 7 drop", "power 0 keep 4:tail1,9:hole0"}) {
    const auto parsed = parse_crash(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(to_text(*parsed), text);
  }
  for (const std::string text : {"", "power", "power x drop", "power 1 lose", "kill 1 drop 3:",
                                 "kill 1 drop 3:side1", "kill 1 drop 3,", "kill 1 drop 3 4"}) {
    EXPECT_FALSE(parse_crash(text)) << text;
  }
}

TEST_F(CrashTest, ManyStatesASecond) {
  // A small store: a log of 32 KiB that is appended to and synced, with a few neighbours.
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(files_.put("/n" + std::to_string(i), as_bytes(std::string(4000, 'n'))));
  }
  ASSERT_TRUE(files_.put("/a", as_bytes(std::string(32'768, 'l'))));
  files_.settle();
  for (int i = 0; i < 60; ++i) {
    ASSERT_TRUE(
        file_->write_at(as_bytes(std::string(200, static_cast<char>(i))), 32'768 + 200 * i));
    if (i % 12 == 11) {
      ASSERT_TRUE(file_->data_sync());
    }
  }
  const auto start = std::chrono::steady_clock::now();
  std::uint64_t bytes = 0;
  std::vector<std::byte> buffer(65'536);
  const CrashReport report =
      for_each_crash(files_.recording(), CrashOptions{}, [&](const CrashState& state) {
        const auto after = state.restart();  // a checker reopens and reads
        bytes += *(*after->open_file("/a", OpenMode::read))->read_at(buffer, 0);
        return true;
      });
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  RecordProperty("states", std::to_string(report.states));
  RecordProperty("states_per_second", std::to_string(static_cast<double>(report.states) / seconds));
  std::printf("%llu states of %llu candidates, %.0f states/s\n",
              static_cast<unsigned long long>(report.states),
              static_cast<unsigned long long>(report.candidates),
              static_cast<double>(report.states) / seconds);
  EXPECT_GT(report.states, 10'000U);
  EXPECT_GT(bytes, 0U);
}

}  // namespace
}  // namespace varve::io
