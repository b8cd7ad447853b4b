// SPDX-License-Identifier: MIT OR Apache-2.0
// What the tests of the arena journal share: payloads and images of the worked vectors, segment
// images in memory, and the outcome of opening one in the words of the vectors.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "arena/codec.hpp"
#include "arena/recovery.hpp"
#include "arena/segment_image.hpp"
#include "base/checksum.hpp"
#include "base/text_coding.hpp"
#include "io/simulated.hpp"

namespace varve::arena::test {

inline std::string repeated(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) {
    out += text;
  }
  return out;
}
inline std::string journal_text() { return repeated("arena journal ", 40); }

// Bytes from hex digits with spaces.
inline std::string hex(std::string_view digits) {
  std::string packed;
  for (const char c : digits) {
    if (c != ' ' && c != '\n') {
      packed += c;
    }
  }
  return std::string(base::as_text(*base::from_hex(packed)));
}

inline std::string frame(std::string_view payload, std::uint32_t seq) {
  base::Bytes out;
  append_frame(base::as_bytes(payload), seq, out);
  return std::string(base::as_text(out));
}
// The same, stored as it is although a block might be shorter.
inline std::string raw_frame(std::string_view payload, std::uint32_t seq) {
  base::Bytes out;
  base::ByteWriter writer(out);
  writer.u32le(base::crc32(base::as_bytes(payload)));
  writer.u32le(static_cast<std::uint32_t>(payload.size()));
  writer.u32le(static_cast<std::uint32_t>(payload.size()));
  writer.u32le(seq);
  writer.text(payload);
  return std::string(base::as_text(out));
}
inline std::string marker() {
  base::Bytes out;
  append_marker(out);
  return std::string(base::as_text(out));
}
inline std::string zeros(std::size_t count) { return std::string(count, '\0'); }

// Section 4 of the vectors: 106 bytes.
inline std::string three_frames() {
  return frame("hello", 0) + frame(journal_text(), 1) + frame("third frame", 2) + marker();
}
// Its first two frames and a marker: what was there before the third was appended.
inline std::string two_frames() { return frame("hello", 0) + frame(journal_text(), 1) + marker(); }

// Puts `with` over the bytes of `text` from `at`, growing it where needed.
inline std::string patched(std::string text, std::size_t at, std::string_view with) {
  if (text.size() < at + with.size()) {
    text.resize(at + with.size());
  }
  return text.replace(at, with.size(), with);
}
inline std::string flipped(std::string text, std::size_t at, unsigned char bits) {
  text[at] = static_cast<char>(static_cast<unsigned char>(text[at]) ^ bits);
  return text;
}

// A segment of logical length `logical_bytes` with this content, in memory.
class MemorySegment {
 public:
  explicit MemorySegment(std::string_view bytes, std::uint64_t logical_bytes = k_step_bytes) {
    const auto made = files_.put("/seg_0.bin", base::as_bytes(bytes));
    auto file = files_.open_file("/seg_0.bin", io::OpenMode::read);
    image_ = std::make_unique<SegmentImage>(std::move(*file), 0, bytes.size(), logical_bytes);
  }
  const SegmentImage& image() const { return *image_; }

 private:
  io::SimulatedFileSystem files_;
  std::unique_ptr<SegmentImage> image_;
};

// "3 frame(s), log end 90 (end marker), next seq 3", or "refused: ..." as in the vectors.
inline std::string opened(const SegmentImage& image, unsigned threads = 1) {
  WalkOptions options;
  options.threads = threads;
  const auto state = examine_tail(image, options);
  if (!state) {
    return "refused: " + state.error().reason + " at " + std::to_string(state.error().offset) +
           state.error().message.substr(state.error().message.find(", reason"));
  }
  std::string kind(to_text(state->kind));
  if (state->kind == TailState::Kind::torn) {
    kind += fmt::format(", reason {}", state->bad.fault.word);
  }
  return fmt::format("{} frame(s), log end {} ({}), next seq {}", state->frames, state->end, kind,
                     state->next_seq);
}
inline std::string opened(std::string_view bytes, std::uint64_t logical_bytes = k_step_bytes) {
  return opened(MemorySegment(bytes, logical_bytes).image());
}

}  // namespace varve::arena::test
