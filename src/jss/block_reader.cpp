// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/block_reader.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace varve::jss {

namespace {

// Marks a frame that was not read because it is above the memory limit.
constexpr const char* k_frame_too_large = "frame-too-large";

std::string describe(std::string_view word) {
  if (word == k_frame_corrupt) {
    return "the frame does not decompress, or its content checksum does not hold";
  }
  if (word == k_frame_trailing) {
    return "the frame ends before the bytes that are said to be its own";
  }
  if (word == k_frame_over_cap) {
    return "the frame would decompress to more than a block may have";
  }
  if (word == k_body_kind) {
    return "a row has a kind outside 1 to 7";
  }
  return "the decompressed block breaks a rule: " + std::string(word);
}

Finding decode_finding(const SegmentFile& file, const FrameRef& frame, std::uint64_t index,
                       const Fault& fault, bool above_limit) {
  Finding finding =
      make_finding(k_decode, k_stage_decode, file.name(), frame.offset,
                   k_length_prefix_bytes + frame.frame_bytes, "block", describe(fault.word));
  finding.index = index;
  finding.expected = fault.expected;
  finding.actual = fault.actual;
  if (above_limit) {
    finding.code = "limit";
    finding.verdict = Verdict::unknown;
    finding.message = "the block is larger than the memory limit";
  }
  return finding;
}

}  // namespace

Result<std::optional<Fault>> BlockReader::attempt(const SegmentFile& file, const FrameRef& frame,
                                                  Block& block) {
  if (frame.frame_bytes > max_memory_bytes_) {
    return std::optional(Fault{k_frame_too_large, 0, Number::decimal(max_memory_bytes_),
                               Number::decimal(frame.frame_bytes)});
  }
  if (memory_.size() < frame.frame_bytes) {
    memory_.resize(static_cast<std::size_t>(frame.frame_bytes));
  }
  const auto bytes = std::span(memory_).first(static_cast<std::size_t>(frame.frame_bytes));
  VARVE_TRY(file.read(bytes, frame.offset + k_length_prefix_bytes));
  frame_ = bytes;
  return decoder_.decode(frame_, max_memory_bytes_, block);
}

Result<std::optional<Finding>> BlockReader::read(const OpenSegment& segment, const FrameRef& frame,
                                                 std::uint64_t index, Block& block) {
  const SegmentFile& file = *segment.file;
  VARVE_ASSIGN(std::optional<Fault> fault, attempt(file, frame, block));
  if (!fault) {
    return std::optional<Finding>();
  }
  VARVE_TRY(file.still_whole());
  if (segment.head.state == SegmentState::active) {
    VARVE_ASSIGN(const bool touched, file.touched());
    if (touched) {
      VARVE_ASSIGN(fault, attempt(file, frame, block));
      if (!fault) {
        return std::optional<Finding>();
      }
    }
  }
  const bool over = std::string_view(fault->word) == k_frame_over_cap;
  const bool above_limit = std::string_view(fault->word) == k_frame_too_large ||
                           (over && max_memory_bytes_ < k_max_body_bytes);
  return std::optional(decode_finding(file, frame, index, *fault, above_limit));
}

}  // namespace varve::jss
