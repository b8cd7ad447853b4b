// SPDX-License-Identifier: MIT OR Apache-2.0
// What the field tables of the formats are made of. A table names the parts of a unit once;
// `explain` prints from it, and the descriptions in docs/formats come from it.
#pragma once

#include <bit>
#include <cstdint>
#include <string>

#include "base/bytes.hpp"

namespace varve::model {

enum class FieldType : std::uint8_t {
  magic,  // text
  u8,
  u16,
  u32,
  u64,
  i64,
  time,    // i64, microseconds since 1970
  hex32,   // u32, a checksum
  hex64,   // u64, a checksum
  zeros,   // written as zero
  id,      // bytes shown as hex digits
  opaque,  // bytes whose content is told elsewhere
};

struct FieldSpec {
  const char* name;
  std::uint64_t offset;  // from the unit's start
  std::uint64_t length;  // bytes; 0: up to the unit's end, or as another field says
  FieldType type;
  const char* meaning;
};

// The value of a field as `explain` tells it; empty for what is told elsewhere. `bytes` are all of
// the field's, in the byte order of the format.
std::string field_text(FieldType type, base::ByteSpan bytes, std::endian order);

}  // namespace varve::model
