// SPDX-License-Identifier: MIT OR Apache-2.0
// Rows of `explain`: the fields of a unit from the field table, and the nodes of a payload.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tay/fields.hpp"
#include "tay/record.hpp"
#include "varve/store.hpp"

namespace varve::tay {

// Sends rows of one file to a sink. Once the sink has had enough, nothing more is sent.
class RowWriter {
 public:
  using Check = ExplainRow::Check;
  using Class = ExplainRow::Class;
  RowWriter(std::string file, ExplainSink& sink) : file_(std::move(file)), sink_(sink) {}

  bool stopped() const { return stopped_; }

  // `bytes`: those of the whole row that are at hand; only the first are shown.
  void container(std::uint64_t offset, std::uint64_t length, unsigned depth, std::string field,
                 std::string value, std::string meaning, Check check);
  void bytes(std::uint64_t offset, ByteSpan bytes, std::uint64_t length, unsigned depth,
             std::string field, std::string value, std::string meaning, Check check,
             Class sort = Class::unset);
  // Bytes of no unit.
  void stretch(std::uint64_t offset, ByteSpan bytes, std::uint64_t length, unsigned depth,
               std::string field, std::string value, std::string meaning, Check check,
               std::vector<ByteMark> stale);
  // The fields of a unit that begins with bytes[0], as far as it goes; a field that is cut is told
  // as such. Checksum fields are compared with the bytes that stand before them in the unit.
  void fields(std::span<const FieldSpec> specs, std::uint64_t offset, ByteSpan bytes,
              unsigned depth);
  // Every node of a value that was checked as a whole.
  void value(std::uint64_t offset, ByteSpan value, unsigned depth, std::string field);

 private:
  const std::byte* node(const std::byte* at, unsigned depth, std::string field);
  const std::byte* pair(const std::byte* at, unsigned depth);
  static ExplainRow row_of(std::uint64_t offset, ByteSpan bytes, std::uint64_t length,
                           unsigned depth, std::string field, std::string value,
                           std::string meaning, Check check);
  void send(ExplainRow row);

  std::string file_;
  ExplainSink& sink_;
  bool stopped_ = false;
  std::uint64_t value_offset_ = 0;  // of the value that is being told, in the file
  const std::byte* value_begin_ = nullptr;
};

}  // namespace varve::tay
