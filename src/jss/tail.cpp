// SPDX-License-Identifier: MIT OR Apache-2.0
#include "jss/tail.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "base/mutant.hpp"

namespace varve::jss {

namespace {

constexpr std::size_t k_scan_bytes = 256 * 1024;
constexpr std::uint64_t k_zstd_magic_bytes = 4;

std::string_view magic_text() {
  static constexpr char k_text[] = {'\x28', '\xb5', '\x2f', '\xfd'};
  return {k_text, sizeof k_text};
}

// The effort that a search may take: hostile bytes can hold a magic at every place, each followed
// by long chains of zstd blocks.
struct HuntBudget {
  std::uint64_t blocks;  // zstd block headers looked at
  std::uint64_t proofs;  // frames decoded
  explicit HuntBudget(std::uint64_t bytes)
      : blocks(65'536 + bytes / 64), proofs(256 + bytes / 65'536) {}
};

}  // namespace

Result<bool> FrameProver::prove(std::uint64_t offset, std::uint64_t frame_bytes) {
  if (frame_bytes > cap_bytes_) {
    return false;
  }
  frame_.resize(static_cast<std::size_t>(frame_bytes));
  VARVE_TRY(file_.read(frame_, offset));
  return !decoder_.decode(frame_, cap_bytes_, block_).has_value();
}

IndexEntry implied_entry(const FrameRef& frame, const Block& block) {
  IndexEntry e;
  const BlockColumns& c = block.columns;
  e.offset = frame.offset;
  e.compressed_size = static_cast<std::uint32_t>(frame.frame_bytes);
  e.uncompressed_size = static_cast<std::uint32_t>(block.body.size());
  e.event_count = c.rows;
  if (c.rows != 0) {
    const auto [min_seq, max_seq] = std::minmax_element(c.seq, c.seq + c.rows);
    const auto [min_time, max_time] = std::minmax_element(c.witnessed_at, c.witnessed_at + c.rows);
    e.min_seq = *min_seq;
    e.max_seq = *max_seq;
    e.min_witnessed_at = *min_time;
    e.max_witnessed_at = *max_time;
  }
  return e;
}

Result<bool> all_zero(const SegmentFile& file, std::uint64_t offset, std::uint64_t end) {
  base::Bytes buffer(static_cast<std::size_t>(std::min<std::uint64_t>(k_scan_bytes, end - offset)));
  while (offset < end) {
    const auto piece = std::span(buffer).first(
        static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), end - offset)));
    VARVE_TRY(file.read(piece, offset));
    if (!base::mutant("jss-zero-tail") &&
        std::any_of(piece.begin(), piece.end(), [](std::byte b) { return b != std::byte{0}; })) {
      return false;
    }
    offset += piece.size();
  }
  return true;
}

Result<bool> may_be_footer(WindowReader& reader, std::span<const FrameRef> frames,
                           std::uint64_t offset) {
  if (frames.empty() || reader.size() - offset < k_index_entry_bytes) {
    return false;
  }
  VARVE_ASSIGN(const std::byte* const p, reader.read(offset, k_index_entry_bytes));
  const IndexEntry e = load_index_entry(p);
  return e.offset == frames[0].offset && e.compressed_size == frames[0].frame_bytes;
}

Result<bool> matches_footer(const SegmentFile& file, std::span<const FrameRef> frames,
                            std::uint64_t offset, std::uint64_t end, FrameProver& prover) {
  const std::uint64_t entries =
      std::min<std::uint64_t>(frames.size(), (end - offset) / k_index_entry_bytes);
  std::array<std::byte, k_index_entry_bytes> raw;
  for (std::uint64_t i = 0; i < entries; ++i) {
    VARVE_TRY(file.read(raw, offset + i * k_index_entry_bytes));
    const IndexEntry found = load_index_entry(raw.data());
    const FrameRef& frame = frames[i];
    if (found.offset != frame.offset || found.compressed_size != frame.frame_bytes) {
      return false;
    }
    VARVE_ASSIGN(const bool whole,
                 prover.prove(frame.offset + k_length_prefix_bytes, frame.frame_bytes));
    if (whole && found != implied_entry(frame, prover.block()) &&
        !base::mutant("jss-footer-match")) {
      return false;
    }
  }
  return entries > 0;
}

namespace {

// Judges one place where a magic stands.
Result<std::optional<FrameRef>> try_frame(WindowReader& reader, std::uint64_t magic_at,
                                          std::uint64_t end, WalkPolicy policy, FrameProver& prover,
                                          HuntBudget& budget) {
  const std::uint64_t offset = magic_at - k_length_prefix_bytes;
  VARVE_ASSIGN(const FrameExtent extent, probe_frame(reader, magic_at, end, budget.blocks));
  if (extent.kind != FrameExtent::Kind::complete || budget.proofs == 0) {
    return std::optional<FrameRef>();
  }
  VARVE_ASSIGN(const std::byte* const p, reader.read(offset, k_length_prefix_bytes));
  const std::uint64_t prefix = base::u64le(p);
  const bool prefix_holds = prefix == extent.bytes;
  if (!prefix_holds && (policy != WalkPolicy::salvage || !extent.has_checksum)) {
    return std::optional<FrameRef>();
  }
  --budget.proofs;
  VARVE_ASSIGN(const bool proven, prover.prove(magic_at, extent.bytes));
  if (!proven) {
    return std::optional<FrameRef>();
  }
  return std::optional(FrameRef{offset, extent.bytes, prefix});
}

}  // namespace

Result<std::optional<FrameRef>> hunt_frame(const SegmentFile& file, std::uint64_t offset,
                                           std::uint64_t end, WalkPolicy policy,
                                           FrameProver& prover) {
  WindowReader reader(file);
  HuntBudget budget(end - offset);
  base::Bytes buffer(static_cast<std::size_t>(std::min<std::uint64_t>(k_scan_bytes, end - offset)));
  // The magic of the first frame that may begin behind `offset`.
  std::uint64_t at = offset + (base::mutant("jss-hunt-first") ? 2 : 1) + k_length_prefix_bytes;
  while (at < end && end - at >= k_zstd_magic_bytes && budget.blocks != 0) {
    const auto piece = std::span(buffer).first(
        static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), end - at)));
    VARVE_TRY(file.read(piece, at));
    const std::string_view text = base::as_text(piece);
    for (std::size_t found = text.find(magic_text()); found != std::string_view::npos;
         found = text.find(magic_text(), found + 1)) {
      VARVE_ASSIGN(const auto frame, try_frame(reader, at + found, end, policy, prover, budget));
      if (frame) {
        return frame;
      }
    }
    // The last three bytes may begin a magic that the next piece ends.
    at += piece.size() - (base::mutant("jss-hunt-step") ? 0 : k_zstd_magic_bytes - 1);
  }
  return std::optional<FrameRef>();
}

}  // namespace varve::jss
