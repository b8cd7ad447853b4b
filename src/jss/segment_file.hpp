// SPDX-License-Identifier: MIT OR Apache-2.0
// One segment file as a reader sees it: opened read-only, with the size that was observed first as
// its end. What another process appends later lies beyond that horizon and is never looked at.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/bytes.hpp"
#include "jss/layout.hpp"
#include "varve/file_system.hpp"
#include "varve/finding.hpp"
#include "varve/result.hpp"

namespace varve::jss {

class SegmentFile {
 public:
  // `name`: how findings call the file (relative to the store; empty if the store is the file).
  // `horizon_bytes`: the end to observe; none means the size now.
  static Result<std::unique_ptr<SegmentFile>> adopt(
      std::unique_ptr<io::File> file, std::string name,
      std::optional<std::uint64_t> horizon_bytes = std::nullopt);

  const std::string& name() const { return name_; }
  const std::string& path() const { return file_->path(); }
  const io::File& file() const { return *file_; }
  std::uint64_t size() const { return horizon_; }
  // What was observed when the file was opened.
  const io::FileIdentity& identity() const { return identity_; }

  // Reads exactly buffer.size() bytes, which the caller knows to end at or before size(). If the
  // file ends before, it was cut by another process: ErrorCode::locked, "changed-while-reading".
  // Thread-safe.
  Result<void> read(std::span<std::byte> buffer, std::uint64_t offset) const;
  // An error as above if the file is now shorter than it was; checked before damage is reported,
  // so that a file cut under the reader is not called damaged.
  Result<void> still_whole() const;
  // True if the file was written to since it was opened.
  Result<bool> touched() const;
  // Takes the file's size now as the end: for who follows a live writer. Not while others read.
  Result<void> observe_end();

 private:
  SegmentFile(std::unique_ptr<io::File> file, std::string name, io::FileIdentity identity,
              std::uint64_t horizon);
  std::unexpected<Error> changed(std::uint64_t offset) const;

  std::unique_ptr<io::File> file_;
  std::string name_;
  io::FileIdentity identity_;
  std::uint64_t horizon_;
};

enum class SegmentState : std::uint8_t {
  active,   // checksum 0: frames up to the end, no footer
  sealed,   // the header passed steps 1 to 8 of section 10
  refused,  // it did not: see SegmentHead::fault
};

// The first 256 bytes of a segment and what they say.
struct SegmentHead {
  std::array<std::byte, k_header_bytes> raw{};
  std::uint64_t raw_bytes = 0;  // fewer than 256 if the file is shorter
  Header header;                // zero if the file is shorter
  SegmentState state = SegmentState::refused;
  std::optional<Finding> fault;   // of a refused one: the first failing step
  std::vector<Finding> oddities;  // what is accepted but should not be there
  // True if the offsets of the sections ascend within the file (steps 5 to 8), so that each can be
  // looked at even where another step failed.
  bool layout_holds = false;
  bool magic_holds = false;
};

// Reads the header and applies steps 1 to 8 of section 10.
Result<SegmentHead> read_head(const SegmentFile& file);
// The same of bytes already read; `size`: the file's.
SegmentHead parse_head(base::ByteSpan first_bytes, std::uint64_t size_bytes,
                       const std::string& name);

// "active", "sealed", "refused".
std::string_view to_text(SegmentState state);

// A finding of a jss reader, with the fields that all of them fill.
Finding make_finding(const char* code, const char* stage, const std::string& file,
                     std::uint64_t offset, std::uint64_t length, const char* unit,
                     std::string message);

inline constexpr const char* k_stage_open = "open";
inline constexpr const char* k_stage_decode = "decode";
inline constexpr const char* k_stage_verify = "verify";

}  // namespace varve::jss
