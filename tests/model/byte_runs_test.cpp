// SPDX-License-Identifier: MIT OR Apache-2.0
// Runs of zeros and of a repeated pattern, in whatever pieces the bytes come.
#include "model/byte_runs.hpp"

#include <gtest/gtest.h>

#include "base/text_coding.hpp"
#include "model/explain_class.hpp"
#include "tests/byte_patterns.hpp"
#include "tests/support.hpp"

namespace varve::model {
namespace {

using test::noise;
using test::repeated_bytes;
using Kind = ByteMark::Kind;

std::vector<ByteMark> runs(std::string_view bytes, std::size_t piece, std::uint64_t offset = 0) {
  RunFinder finder(offset);
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    finder.take(base::as_bytes(bytes.substr(at, piece)));
  }
  return finder.finish();
}

void expect_mark(const ByteMark& mark, Kind kind, std::uint64_t offset, std::uint64_t length,
                 std::string_view text) {
  EXPECT_EQ(mark.kind, kind);
  EXPECT_EQ(mark.offset, offset);
  EXPECT_EQ(mark.length, length);
  EXPECT_EQ(mark.text, text);
}

TEST(ByteRuns, FindsZerosAndPatternsInAnyPieces) {
  const std::string bytes = "noise-a" + std::string(100, '\0') + "noise-b" +
                            repeated_bytes("\xDE\xAD\xBE\xEF", 64) + "!noise-c" +
                            std::string(33, '\xFF');
  for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, std::size_t{64}, bytes.size()}) {
    const auto found = runs(bytes, piece, 1000);
    ASSERT_EQ(found.size(), 3U) << piece;
    expect_mark(found[0], Kind::zeros, 1007, 100, "");
    expect_mark(found[1], Kind::repeated, 1114, 64, "deadbeef");
    expect_mark(found[2], Kind::repeated, 1186, 33, "ff");
  }
}

TEST(ByteRuns, EveryPeriodIsFoundWhereItBegins) {
  for (std::size_t period = 2; period <= k_most_pattern_bytes; ++period) {
    const std::string pattern = noise(period, static_cast<unsigned>(period));
    const std::string bytes = noise(37, 99) + repeated_bytes(pattern, 200) + noise(41, 98);
    const auto found = runs(bytes, 11);
    ASSERT_EQ(found.size(), 1U) << period;
    // A byte of the noise may go on with the pattern by chance; with these seeds none does.
    EXPECT_EQ(found[0].offset, 37U);
    EXPECT_EQ(found[0].length, 200U);
    EXPECT_EQ(found[0].text, base::to_hex(base::as_bytes(pattern)));
  }
}

TEST(ByteRuns, NoiseAndShortRunsAreNothing) {
  EXPECT_TRUE(runs(noise(100'000, 5), 4096).empty());
  EXPECT_TRUE(runs("abc" + std::string(31, '\0') + "abc", 100).empty());
  EXPECT_TRUE(runs("", 1).empty());
}

TEST(ByteRuns, NeighboursDoNotOverlap) {
  const std::string bytes = std::string(50, '\0') + std::string(50, '\1') +
                            repeated_bytes("ab", 60) + std::string(40, '\0');
  const auto found = runs(bytes, 7);
  ASSERT_EQ(found.size(), 4U);
  std::uint64_t at = 0;
  for (const ByteMark& mark : found) {
    EXPECT_EQ(mark.offset, at);
    at += mark.length;
  }
  EXPECT_EQ(at, bytes.size());
}

TEST(ByteRuns, TheNumberOfMarksIsBounded) {
  RunFinder finder(0, 3);
  for (int i = 0; i < 10; ++i) {
    finder.take_zeros(100);
    finder.take(base::as_bytes("x"));
  }
  EXPECT_EQ(finder.finish().size(), 3U);
}

TEST(ByteRuns, HolesOfAFileAreNotRead) {
  const test::ScratchDirectory scratch;
  const std::string path = (scratch / "sparse").string();
  test::write_file(path, "head");
  std::filesystem::resize_file(path, std::uint64_t{1} << 30);
  const auto file = io::posix_file_system().open_file(path, io::OpenMode::read);
  ASSERT_TRUE(file);
  std::uint64_t budget = std::uint64_t{1} << 20;
  const auto found = runs_of(**file, 4, (std::uint64_t{1} << 30) - 4, budget);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1U);
  expect_mark(found->front(), Kind::zeros, 4, (std::uint64_t{1} << 30) - 4, "");
  EXPECT_GT(budget, 0U);
}

TEST(ByteRuns, AUsedUpBudgetEndsTheSearch) {
  const test::ScratchDirectory scratch;
  test::write_file(scratch / "file", std::string(10'000, 'a'));
  const auto file =
      io::posix_file_system().open_file((scratch / "file").string(), io::OpenMode::read);
  ASSERT_TRUE(file);
  std::uint64_t budget = 1000;
  const auto found = runs_of(**file, 0, 10'000, budget);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1U);
  expect_mark(found->front(), Kind::repeated, 0, 1000, "61");
  EXPECT_EQ(budget, 0U);
}

TEST(ExplainClass, NamesTellTheSort) {
  using Class = ExplainRow::Class;
  EXPECT_EQ(class_of_field("segment_crc"), Class::check);
  EXPECT_EQ(class_of_field("content checksum"), Class::check);
  EXPECT_EQ(class_of_field("raw_len"), Class::length);
  EXPECT_EQ(class_of_field("footer_offset"), Class::length);
  EXPECT_EQ(class_of_field("magic"), Class::header);
  EXPECT_EQ(class_of_field("STORE_ID"), Class::field);
}

}  // namespace
}  // namespace varve::model
