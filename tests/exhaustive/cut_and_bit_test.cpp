// SPDX-License-Identifier: MIT OR Apache-2.0
#include <gtest/gtest.h>

#include "tests/exhaustive/every_bit.hpp"
#include "tests/exhaustive/every_cut.hpp"
#include "tests/exhaustive/toy_store.hpp"
#include "tests/support.hpp"

namespace varve::test {
namespace {

constexpr std::size_t k_head_bytes = 4;  // of the toy file: a number that nothing protects

// A head, then three frames.
io::simulated::Image three_frames() {
  io::SimulatedFileSystem files;
  base::Bytes bytes(k_head_bytes, std::byte{7});
  for (std::uint64_t i = 0; i < 3; ++i) {
    const base::Bytes frame = framed("payload " + std::to_string(i));
    bytes.insert(bytes.end(), frame.begin(), frame.end());
  }
  (void)files.put("/log", bytes);
  files.settle();
  return files.image();
}
constexpr std::uint64_t k_frame_bytes = 8 + 9;

std::vector<std::string> log_of(io::SimulatedFileSystem& files) {
  const base::Bytes bytes = bytes_of(files, "/log");
  return frames_in(base::ByteSpan(bytes).subspan(std::min(bytes.size(), k_head_bytes)));
}

TEST(EveryCut, ShowsEachSizeOnceAndGathersThoseThatLookAlike) {
  std::uint64_t expected_size = 0;
  const CutReport report =
      every_cut(three_frames(), "/log", [&](io::SimulatedFileSystem& files, std::uint64_t size) {
        EXPECT_EQ(size, expected_size++);
        EXPECT_EQ(bytes_of(files, "/log").size(), size);
        return CutLook{"torn", "", log_of(files).size()};
      });
  EXPECT_EQ(report.cuts, k_head_bytes + 3 * k_frame_bytes);
  ASSERT_EQ(report.rows.size(), 3U);
  EXPECT_EQ(report.rows[1].first, k_head_bytes + k_frame_bytes);
  EXPECT_EQ(report.rows[1].last, k_head_bytes + 2 * k_frame_bytes - 1);
  EXPECT_EQ(report.rows[1].look.records, 1U);
  EXPECT_NE(report.table("Cuts").markdown().find("| 21..37 | torn |  | 1 |"), std::string::npos)
      << report.table("Cuts").markdown();
}

TEST(EveryCut, SamplesLargeFilesIncludingBothEnds) {
  io::SimulatedFileSystem files;
  ASSERT_TRUE(files.put("/log", base::Bytes(200'000)));
  SamplingOptions options;
  options.samples = 100;
  std::vector<std::uint64_t> seen;
  const auto look = [&](io::SimulatedFileSystem&, std::uint64_t size) {
    seen.push_back(size);
    return CutLook{"clean", "", 0};
  };
  const CutReport report = every_cut(files.image(), "/log", look, options);
  EXPECT_TRUE(report.sampled);
  EXPECT_EQ(seen.size(), 100U);
  EXPECT_EQ(seen.front(), 0U);
  EXPECT_EQ(seen.back(), 199'999U);
}

TEST(EveryBit, TellsNoticedInvisibleAndUnprotectedApart) {
  const auto look = [](io::SimulatedFileSystem& files) {
    const base::Bytes bytes = bytes_of(files, "/log");
    const auto log = log_of(files);
    std::string seen = std::to_string(base::u8(bytes[0]) & 15);  // half of the first byte is shown
    for (const std::string& line : log) {
      seen += line;
    }
    return BitLook{log.size() < 3, "frame", base::xxh3_64(as_bytes(seen))};
  };
  const BitReport report =
      every_bit(three_frames(), "/log", look, [](std::uint64_t offset) -> std::string {
        return offset == 0 ? "number" : offset < k_head_bytes ? "padding" : "frame";
      });
  EXPECT_EQ(report.bits, (k_head_bytes + 3 * k_frame_bytes) * 8);
  EXPECT_EQ(report.noticed, 3 * k_frame_bytes * 8);
  EXPECT_EQ(report.codes.at("frame"), report.noticed);
  EXPECT_EQ(report.unprotected, (std::vector<std::uint64_t>{0, 1, 2, 3}));
  EXPECT_EQ(report.unprotected_by_field.at("number"), 4U);
  EXPECT_EQ(report.invisible_by_field.at("number"), 4U);
  EXPECT_EQ(report.invisible_by_field.at("padding"), 24U);
  const std::string markdown = report.table("Bits").markdown();
  EXPECT_NE(markdown.find("| number | 4 | 4 |"), std::string::npos) << markdown;
}

TEST(Tables, AreWrittenAsMarkdownAndJson) {
  Table table("Title", {"a", "b"});
  table.add_row({std::string("x"), std::uint64_t{3}});
  table.add_note("A note.");
  const ScratchDirectory scratch;
  EXPECT_TRUE(table.publish_to(scratch / "below", "name"));
  EXPECT_EQ(read_file(scratch / "below/name.md"),
            "### Title\n\n| a | b |\n|---|---|\n| x | 3 |\n\nA note.\n");
  EXPECT_NE(read_file(scratch / "below/name.json").find("\"b\": 3"), std::string::npos);
  write_file(scratch / "file", "");
  EXPECT_FALSE(table.publish_to(scratch / "file", "name"));
}

}  // namespace
}  // namespace varve::test
