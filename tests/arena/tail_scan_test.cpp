// SPDX-License-Identifier: MIT OR Apache-2.0
// The search behind a bad frame: right on every offset, and linear on hostile tails.
#include "arena/tail_scan.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "arena_support.hpp"
#include "base/crc32_shift.hpp"

namespace varve::arena::test {
namespace {

// The definition: section 3.2 at each offset.
std::optional<Proof> by_definition(const SegmentImage& image, std::uint64_t from, bool markers) {
  const auto last = image.last_nonzero(from);
  if (!last || !*last) {
    return std::nullopt;
  }
  base::Buffer data;
  base::Buffer room;
  for (std::uint64_t p = from; p <= **last; ++p) {
    const auto check = check_at(image, p, data, room);
    if (check && (check->kind == UnitKind::frame || (markers && check->kind == UnitKind::marker))) {
      return Proof{check->kind, p, check->header};
    }
  }
  return std::nullopt;
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 2 + 1) {}
  std::uint32_t next(std::uint32_t below) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::uint32_t>((state_ >> 33) % below);
  }

 private:
  std::uint64_t state_;
};

TEST(TailScan, AgreesWithTheDefinition) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Random random(seed);
    std::string image;
    while (image.size() < 600) {
      switch (random.next(6)) {
        case 0:
          image += frame(std::string(1 + random.next(60), 'q') + journal_text(), random.next(9));
          break;
        case 1:
          image += raw_frame(std::string(1 + random.next(90), '\0') + "x" + zeros(random.next(9)),
                             random.next(9));
          break;
        case 2:
          image += zeros(random.next(40));
          break;
        case 3:
          image += marker();
          break;
        case 4:  // small integers: candidates at many offsets
          for (std::uint32_t i = random.next(40); i > 0; --i) {
            image += static_cast<char>(random.next(4));
            image += zeros(3);
          }
          break;
        default:
          for (std::uint32_t i = random.next(30); i > 0; --i) {
            image += static_cast<char>(random.next(256));
          }
      }
    }
    for (int i = 0; i < 6; ++i) {  // hurt some of it
      image = flipped(image, random.next(static_cast<std::uint32_t>(image.size())),
                      static_cast<unsigned char>(1U << random.next(8)));
    }
    const MemorySegment segment(image, image.size() + random.next(2) * 5000);
    TailScanner scanner(segment.image());
    for (std::uint64_t from = random.next(40);;) {
      const bool markers = random.next(2) == 0;
      const auto expected = by_definition(segment.image(), from, markers);
      const auto found = scanner.next(from, markers);
      ASSERT_TRUE(found.has_value());
      ASSERT_EQ(found->has_value(), expected.has_value()) << seed << " from " << from;
      if (!expected) {
        break;
      }
      EXPECT_EQ((*found)->offset, expected->offset);
      EXPECT_EQ((*found)->kind, expected->kind);
      EXPECT_EQ((*found)->header, expected->header);
      from = expected->offset + 1 + random.next(50);
    }
  }
}

TEST(TailScan, FindsAFrameAndAMarkerAcrossTheWindowEdges) {
  for (const std::size_t distance :
       {std::size_t{1} << 20, (std::size_t{1} << 20) - 7, (std::size_t{3} << 20) + 5}) {
    std::string image(distance, 'x');
    image += raw_frame(std::string(100, 'y') + zeros(50), 4);
    const MemorySegment segment(image);
    TailScanner scanner(segment.image());
    const auto found = scanner.next(1, true);
    ASSERT_TRUE(found.has_value() && found->has_value());
    EXPECT_EQ((*found)->offset, distance);
    EXPECT_EQ((*found)->kind, UnitKind::frame);
  }
  const MemorySegment segment(std::string(1000, 'x') + zeros(std::size_t{5} << 20) + marker());
  TailScanner scanner(segment.image());
  const auto found = scanner.next(1, true);
  ASSERT_TRUE(found.has_value() && found->has_value());
  EXPECT_EQ((*found)->kind, UnitKind::marker);
  EXPECT_EQ((*found)->offset, 1000 + (std::size_t{5} << 20));
}

double seconds_for(const std::string& image, bool& found) {
  const MemorySegment segment(image, image.size() + (std::size_t{64} << 20));
  TailScanner scanner(segment.image());
  const auto begin = std::chrono::steady_clock::now();
  const auto proof = scanner.next(1, true);
  found = !proof || proof->has_value();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// 64 MiB of equal words: every offset is a possible uncompressed frame of megabytes. Checking each
// one's CRC directly would read 10^14 bytes and never come back.
TEST(TailScan, EqualWordsAreLinear) {
  std::string image;
  for (std::size_t i = 0; i < (std::size_t{16} << 20); ++i) {
    image += std::string_view("\x00\x00\x01\x01", 4);
  }
  for (const std::size_t bytes : {image.size() / 4, image.size()}) {
    bool found = true;
    const double seconds = seconds_for(image.substr(0, bytes), found);
    EXPECT_FALSE(found);
    RecordProperty("seconds_for_" + std::to_string(bytes >> 20) + "_MiB", std::to_string(seconds));
  }
}

// Blocks of 200 KB that each decode to 51 MB and then turn out to have a wrong CRC: only the budget
// ends that.
TEST(TailScan, ExpensiveBlocksHitTheBudget) {
  constexpr std::size_t k_run = 200'000;
  // One literal, a match at distance 1 whose length takes k_run bytes, five last literals.
  const std::string block =
      "\x1f"
      "a" +
      std::string("\x01\x00", 2) + std::string(k_run, '\xff') + zeros(1) +
      "\x50"
      "bbbbb";
  base::Bytes header;
  base::ByteWriter writer(header);
  writer.u32le(1);
  writer.u32le(static_cast<std::uint32_t>(1 + 15 + 255 * k_run + 4 + 5));
  writer.u32le(static_cast<std::uint32_t>(block.size()));
  writer.u32le(0);
  std::string image = "x";
  while (image.size() < (std::size_t{24} << 20)) {
    image += base::as_text(header);
    image += block;
  }
  const MemorySegment segment(image);
  TailScanner scanner(segment.image());
  const auto proof = scanner.next(1, true);
  ASSERT_FALSE(proof.has_value());
  EXPECT_EQ(proof.error().code, ErrorCode::limit);
  EXPECT_EQ(proof.error().reason, "scan-limit");
  EXPECT_TRUE(opened(segment.image()).starts_with("refused: scan-limit"));
}

TEST(Crc32Shift, AgreesWithDirectComputation) {
  base::Crc32Shift shift;
  const std::string text = journal_text();
  for (int round = 0; round < 3; ++round) {  // later rounds use the tables
    for (std::size_t a = 0; a <= text.size(); a += 7) {
      for (std::size_t b = a; b <= text.size(); b += 13) {
        const std::string_view all(text);
        EXPECT_EQ(shift.between(base::crc32(base::as_bytes(all.substr(0, a))),
                                base::crc32(base::as_bytes(all.substr(0, b))), b - a),
                  base::crc32(base::as_bytes(all.substr(a, b - a))));
      }
    }
  }
  EXPECT_EQ(shift.append_zeros(base::crc32(base::as_bytes(text)), 100'000),
            base::crc32(base::as_bytes(text + zeros(100'000))));
}

}  // namespace
}  // namespace varve::arena::test
