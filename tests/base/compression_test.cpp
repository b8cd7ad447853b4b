// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/compression.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>
#include <random>
#include <string>

#include "base/text_coding.hpp"
#include "tests/support.hpp"

namespace varve::base {
namespace {

Bytes encode(ByteSpan body, int level = 3) {
  Bytes out;
  ZstdEncoder(level).encode(body, out);
  return out;
}

Bytes bytes_of(std::string_view hex) { return *from_hex(hex); }

// A frame with content checksum off, no content size, window 1 MiB: `blocks` run-length blocks of
// 128 KiB of zeros each. Four bytes a block.
Bytes bomb(std::size_t blocks) {
  Bytes out = bytes_of("28b52ffd0050");
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::uint32_t header = (128U * 1024 << 3) | (1U << 1) | (i + 1 == blocks ? 1U : 0U);
    for (int shift = 0; shift < 24; shift += 8) {
      out.push_back(static_cast<std::byte>(header >> shift));
    }
    out.push_back(std::byte{0});
  }
  return out;
}

std::size_t peak_resident_bytes() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with("VmHWM:")) {
      return std::stoull(line.substr(6)) * 1024;
    }
  }
  return 0;
}

TEST(Zstd, DecodesWhatItEncoded) {
  std::mt19937 random(1);
  ZstdDecoder decoder;
  Buffer out(4);
  for (const std::size_t size : {0, 1, 255, 256, 1000, 1'000'000}) {
    std::string body(size, 'x');
    for (char& c : body) {
      c = static_cast<char>('a' + random() % 7);
    }
    const Bytes frame = encode(as_bytes(body));
    ASSERT_EQ(decoder.decode(frame, 1 << 20, out), CodecStatus::ok) << size;
    EXPECT_EQ(as_text(out.span()), body);
    EXPECT_EQ((reinterpret_cast<std::uintptr_t>(out.data()) + 4) % 8, 0U);
  }
}

TEST(Zstd, DecodesFramesWithoutContentSize) {
  // An empty jss block and the frame of an empty collection index (jss-vectors, section 7).
  ZstdDecoder decoder;
  Buffer out;
  ASSERT_EQ(decoder.decode(bytes_of("28b52ffd040021000000000000b4def25c"), 100, out),
            CodecStatus::ok);
  EXPECT_EQ(to_hex(out.span()), "00000000");
  ASSERT_EQ(decoder.decode(bytes_of("28b52ffd2000010000"), 100, out), CodecStatus::ok);
  EXPECT_EQ(out.size(), 0U);
}

TEST(Zstd, RefusesWhatFollowsTheFrame) {
  Bytes frame = encode(as_bytes("some text"));
  frame.push_back(std::byte{0});
  Buffer out;
  EXPECT_EQ(ZstdDecoder().decode(frame, 100, out), CodecStatus::trailing_bytes);
}

TEST(Zstd, EachFlippedBitIsNoticed) {
  const Bytes frame = encode(as_bytes("text text text text and then some other text"));
  Buffer out;
  ZstdDecoder decoder;
  for (std::size_t bit = 0; bit < frame.size() * 8; ++bit) {
    Bytes hurt = frame;
    hurt[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    const CodecStatus status = decoder.decode(hurt, 1 << 20, out);
    // Some header bits only change how much memory a decoder needs.
    if (status == CodecStatus::ok) {
      EXPECT_EQ(as_text(out.span()), "text text text text and then some other text") << bit;
    }
  }
}

TEST(Zstd, ClaimsDoNotAllocate) {
  // 17 bytes that claim a terabyte, and the same that claim just the cap.
  Buffer out;
  EXPECT_EQ(ZstdDecoder().decode(bytes_of("28b52ffde00000000000010000010000"), 1 << 30, out),
            CodecStatus::over_cap);
  EXPECT_EQ(ZstdDecoder().decode(bytes_of("28b52ffde00000004000000000010000"), 1 << 30, out),
            CodecStatus::corrupt);
  EXPECT_LT(out.capacity(), 1U << 20);
}

TEST(Zstd, ABombStopsAtTheCap) {
  const std::size_t before = peak_resident_bytes();
  constexpr std::uint64_t k_cap = 64 << 20;
  Buffer out;
  ZstdDecoder decoder;
  EXPECT_EQ(decoder.decode(bomb(4096), k_cap, out), CodecStatus::over_cap);
  EXPECT_EQ(decoder.decode(bomb(512), k_cap, out), CodecStatus::ok);
  EXPECT_EQ(out.size(), k_cap);
  if (!varve::test::thread_sanitized()) {
    EXPECT_LT(peak_resident_bytes() - before, k_cap + (16 << 20));
  }
}

TEST(Zstd, RefusesAWindowAboveTheLimit) {
  Bytes frame = bomb(1);
  frame[5] = std::byte{0xA0};  // 1 GiB
  Buffer out;
  EXPECT_EQ(ZstdDecoder().decode(frame, 1 << 20, out), CodecStatus::over_cap);
}

TEST(Zstd, RefusesDictionaries) {
  Bytes frame = bytes_of("28b52ffd0150070100000a000061");
  Buffer out;
  EXPECT_EQ(ZstdDecoder().decode(frame, 100, out), CodecStatus::corrupt);
}

TEST(Zstd, FindsWhereAFrameEnds) {
  Bytes frame = encode(as_bytes("abc"));
  const std::size_t size = frame.size();
  EXPECT_EQ(zstd_frame_size(ByteSpan(frame).first(size - 1)), std::nullopt);
  frame.push_back(std::byte{1});
  EXPECT_EQ(zstd_frame_size(frame), size);
}

}  // namespace
}  // namespace varve::base
