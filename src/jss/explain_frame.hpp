// SPDX-License-Identifier: MIT OR Apache-2.0
// Rows of `explain`: fields of units from the field table, and the inner parts of a zstd frame.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "jss/fields.hpp"
#include "jss/segment_file.hpp"
#include "varve/store.hpp"

namespace varve::jss {

// Sends rows of one file to a sink.
class RowWriter {
 public:
  using Check = ExplainRow::Check;
  using Class = ExplainRow::Class;
  RowWriter(const SegmentFile& file, ExplainSink& sink) : file_(file), sink_(sink) {}

  // Each gives false once the sink wants no more rows.
  Result<bool> container(std::uint64_t offset, std::uint64_t length, unsigned depth,
                         std::string field, std::string value, std::string meaning,
                         Check check = Check::none);
  Result<bool> bytes(std::uint64_t offset, std::uint64_t length, unsigned depth, std::string field,
                     std::string value, std::string meaning, Check check = Check::none,
                     Class sort = Class::unset, std::vector<ByteMark> marks = {});
  // Bytes of no unit, with the whole frames that stand in them: what an older state left there.
  Result<bool> stretch(std::uint64_t offset, std::uint64_t length, unsigned depth,
                       std::string field, std::string meaning, Check check = Check::none);
  // The fields of a unit at `offset`, those of `available` bytes that are there; a field that is
  // cut is told as such.
  Result<bool> fields(std::span<const FieldSpec> specs, std::uint64_t offset,
                      std::uint64_t available, unsigned depth);
  // Overrides the check of the next field of that name.
  void expect(const char* field, bool holds) { expected_.push_back({field, holds}); }

  const SegmentFile& file() const { return file_; }

 private:
  struct Expectation {
    std::string_view field;
    bool holds;
  };
  Result<bool> send(ExplainRow row);

  const SegmentFile& file_;
  ExplainSink& sink_;
  std::vector<Expectation> expected_;
  bool stopped_ = false;
};

// The parts of the frame in [offset, offset + length): magic, frame header, blocks, checksum.
// `decodes`: whether the frame was decoded, and so its checksum holds; unknown if not tried.
Result<bool> explain_zstd_frame(RowWriter& rows, std::uint64_t offset, std::uint64_t length,
                                unsigned depth, std::optional<bool> decodes);

}  // namespace varve::jss
