// SPDX-License-Identifier: MIT OR Apache-2.0
#include "model/field_table.hpp"

#include <algorithm>

#include "base/endian.hpp"
#include "base/json_writer.hpp"
#include "base/text_coding.hpp"
#include "varve/finding.hpp"

namespace varve::model {

namespace {

// The first microsecond of the year 10000, which no text form has.
constexpr std::int64_t k_end_of_times = 253'402'300'800'000'000;

std::string time_text(std::int64_t time) {
  std::string text = std::to_string(time);
  if (time > 0 && time < k_end_of_times) {
    text += " (";
    base::append_rfc3339(text, time);
    text += ')';
  }
  return text;
}

}  // namespace

std::string field_text(FieldType type, base::ByteSpan bytes, std::endian order) {
  const bool big = order == std::endian::big;
  const std::byte* p = bytes.data();
  const auto u16 = [&] { return big ? base::u16be(p) : base::u16le(p); };
  const auto u32 = [&] { return big ? base::u32be(p) : base::u32le(p); };
  const auto u64 = [&] { return big ? base::u64be(p) : base::u64le(p); };
  switch (type) {
    case FieldType::magic:
      return std::string(base::as_text(bytes));
    case FieldType::u8:
      return std::to_string(base::u8(*p));
    case FieldType::u16:
      return std::to_string(u16());
    case FieldType::u32:
      return std::to_string(u32());
    case FieldType::u64:
      return std::to_string(u64());
    case FieldType::i64:
      return std::to_string(static_cast<std::int64_t>(u64()));
    case FieldType::time:
      return time_text(static_cast<std::int64_t>(u64()));
    case FieldType::hex32:
      return to_text(Number::hex32(u32()));
    case FieldType::hex64:
      return to_text(Number::hex64(u64()));
    case FieldType::zeros:
      return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; }) ? "zeros"
                                                                                       : "not zero";
    case FieldType::id:
      return base::to_hex(bytes);
    case FieldType::opaque:
      break;
  }
  return {};
}

}  // namespace varve::model
