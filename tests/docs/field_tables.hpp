// SPDX-License-Identifier: MIT OR Apache-2.0
// The field tables of the formats in one neutral form, and their text in the three notations of
// docs/formats: Markdown rows, Kaitai Struct and ImHex fields.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace varve::test {

struct Field {
  enum class Kind : std::uint8_t { number, signed_number, bytes };
  std::string name;
  std::uint64_t offset = 0;  // from the unit's start
  std::uint64_t length = 0;  // bytes; 0: as many as the unit has left
  Kind kind = Kind::bytes;
  std::string meaning;
};

// The units of one format, by the name that docs/formats uses for them.
struct FormatTable {
  std::string format;
  std::map<std::string, std::vector<Field>, std::less<>> units;
};

std::vector<FormatTable> field_tables();

// The fields of a unit, a line each, every line indented by `indent` spaces and ended.
std::string as_markdown(const std::vector<Field>& fields, std::size_t indent);
std::string as_kaitai(const std::vector<Field>& fields, std::size_t indent);
std::string as_imhex(const std::vector<Field>& fields, std::size_t indent);

// `text` with each region between "fields of UNIT" and "end of UNIT" (each in a comment of the
// notation) replaced by what the tables say. Units met are noted in `met`.
std::string filled_in(std::string_view text, std::string_view notation, const FormatTable& table,
                      std::vector<std::string>& met);

}  // namespace varve::test
