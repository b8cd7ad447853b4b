// SPDX-License-Identifier: MIT OR Apache-2.0
#include "field_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <span>
#include <stdexcept>

#include "arena/fields.hpp"
#include "jss/fields.hpp"
#include "kladde/fields.hpp"
#include "tay/fields.hpp"

namespace varve::test {

namespace {

Field::Kind kind_of(model::FieldType type) {
  using model::FieldType;
  switch (type) {
    case FieldType::i64:
    case FieldType::time:
      return Field::Kind::signed_number;
    case FieldType::magic:
    case FieldType::zeros:
    case FieldType::id:
    case FieldType::opaque:
      return Field::Kind::bytes;
    default:
      return Field::Kind::number;
  }
}

std::vector<Field> neutral(std::span<const model::FieldSpec> specs) {
  std::vector<Field> out;
  for (const model::FieldSpec& spec : specs) {
    out.push_back({spec.name, spec.offset, spec.length, kind_of(spec.type), spec.meaning});
  }
  return out;
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    out += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  }
  return out;
}

// What stands in a line that opens or closes a region, or nothing.
std::string_view unit_named(std::string_view line, std::string_view before) {
  const std::size_t at = line.find(before);
  if (at == std::string_view::npos) {
    return {};
  }
  const std::string_view rest = line.substr(at + before.size());
  return rest.substr(0, rest.find_first_of(" \n"));
}

}  // namespace

std::vector<FormatTable> field_tables() {
  FormatTable arena{"arena", {}};
  arena.units["frame"] = neutral(arena::k_frame_fields);
  arena.units["marker"] = neutral(arena::k_marker_fields);
  FormatTable jss{"jss", {}};
  jss.units["header"] = neutral(jss::k_header_fields);
  jss.units["length_prefix"] = neutral(jss::k_length_prefix_fields);
  jss.units["block_index_entry"] = neutral(jss::k_index_entry_fields);
  jss.units["bloom"] = neutral(jss::k_bloom_fields);
  jss.units["bloom_region"] = neutral(jss::k_bloom_region_fields);
  jss.units["collection_index"] = neutral(jss::k_collection_index_fields);
  FormatTable kladde{"kladde", {}};
  kladde.units["header"] = neutral(kladde::k_header_fields);
  kladde.units["page_frame"] = neutral(kladde::k_frame_fields);
  kladde.units["journal_trailer"] = neutral(kladde::k_journal_trailer_fields);
  FormatTable tay{"tay", {}};
  tay.units["store"] = neutral(tay::k_store_fields);
  tay.units["segment_header"] = neutral(tay::k_header_fields);
  tay.units["segment_footer"] = neutral(tay::k_footer_fields);
  tay.units["record"] = neutral(tay::k_record_fields);
  tay.units["record_trailer"] = neutral(tay::k_record_trailer_fields);
  tay.units["current"] = neutral(tay::k_current_fields);
  tay.units["marker"] = neutral(tay::k_marker_fields);
  tay.units["manifest"] = neutral(tay::k_manifest_fields);
  return {arena, jss, kladde, tay};
}

std::string as_markdown(const std::vector<Field>& fields, std::size_t indent) {
  std::string out;
  for (const Field& field : fields) {
    out += fmt::format("{:{}}| {} | {} | `{}` | {} |\n", "", indent, field.offset,
                       field.length != 0 ? std::to_string(field.length) : "rest", field.name,
                       field.meaning);
  }
  return out;
}

std::string as_kaitai(const std::vector<Field>& fields, std::size_t indent) {
  std::string out;
  for (const Field& field : fields) {
    if (field.length == 0) {
      continue;  // its length follows from another field: written by hand
    }
    const bool number = field.kind != Field::Kind::bytes;
    out += fmt::format("{:{}}- id: {}\n", "", indent, lower(field.name));
    out += number ? fmt::format("{:{}}  type: {}{}\n", "", indent,
                                field.kind == Field::Kind::number ? 'u' : 's', field.length)
                  : fmt::format("{:{}}  size: {}\n", "", indent, field.length);
    out += fmt::format("{:{}}  doc: \"{}\"\n", "", indent, escaped(field.meaning));
  }
  return out;
}

std::string as_imhex(const std::vector<Field>& fields, std::size_t indent) {
  std::string out;
  for (const Field& field : fields) {
    if (field.length == 0) {
      continue;
    }
    const bool number = field.kind != Field::Kind::bytes;
    const std::string type =
        number
            ? fmt::format("{}{}", field.kind == Field::Kind::number ? 'u' : 's', field.length * 8)
            : std::string("u8");
    out += fmt::format("{:{}}{} {}{} [[comment(\"{}\")]];\n", "", indent, type, lower(field.name),
                       number ? "" : fmt::format("[{}]", field.length), escaped(field.meaning));
  }
  return out;
}

std::string filled_in(std::string_view text, std::string_view notation, const FormatTable& table,
                      std::vector<std::string>& met) {
  std::string out;
  std::string_view open;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1);
    const std::string_view line = text.substr(0, end + 1);
    text.remove_prefix(end + 1);
    if (!open.empty() && unit_named(line, "end of ") == open) {
      open = {};
    }
    if (open.empty()) {
      out += line;
    }
    if (const std::string_view unit = unit_named(line, "fields of ");
        open.empty() && !unit.empty()) {
      const auto found = table.units.find(unit);
      if (found == table.units.end()) {
        throw std::invalid_argument("no unit " + std::string(unit));
      }
      open = unit;
      met.emplace_back(unit);
      const std::size_t indent = line.find_first_not_of(' ');
      out += notation == "ksy" ? as_kaitai(found->second, indent)
             : notation == "hexpat"
                 ? as_imhex(found->second, indent)
                 : "\n| offset | bytes | field | meaning |\n|---|---|---|---|\n" +
                       as_markdown(found->second, indent) + "\n";
    }
  }
  if (!open.empty()) {
    throw std::invalid_argument("no end of " + std::string(open));
  }
  return out;
}

}  // namespace varve::test
