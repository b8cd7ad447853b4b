// SPDX-License-Identifier: MIT OR Apache-2.0
// Decoding and encoding of descriptor tables (Appendix B).
#include <limits>

#include "base/bytes.hpp"
#include "base/cursor.hpp"
#include "base/text_coding.hpp"
#include "kladde/layout.hpp"
#include "kladde/type_rules.hpp"

namespace varve::kladde {

namespace {

constexpr std::uint8_t k_last_primitive = 11;
constexpr std::uint8_t k_first_compound = 128;

std::unexpected<Error> refused(std::size_t offset, std::string message) {
  Error error;
  error.code = ErrorCode::damaged;
  error.reason = word::type_table;
  error.offset = offset;
  error.unit = "type table";
  error.message = std::move(message);
  return std::unexpected(std::move(error));
}

class TypeDecoder {
 public:
  explicit TypeDecoder(base::ByteSpan bytes) : cursor_(bytes) {}

  Result<TypeTable> run() {
    VARVE_ASSIGN(const std::uint64_t count, number("the number of types"));
    if (count == 0) {
      return refused(0, "the table is empty");
    }
    // Every descriptor takes at least a byte.
    if (count > cursor_.remaining()) {
      return refused(0, "more types are announced than the table has bytes");
    }
    count_ = count;
    TypeTable table(static_cast<std::size_t>(count));
    for (Type& type : table) {
      VARVE_TRY(read(type));
    }
    if (!cursor_.at_end()) {
      return refused(cursor_.position(), "bytes follow the last type");
    }
    return table;
  }

 private:
  Result<void> read(Type& type) {
    const std::size_t at = cursor_.position();
    const auto tag = cursor_.u8();
    if (!tag) {
      return refused(at, "the table ends where a type is due");
    }
    if (*tag < k_first_compound) {
      if (*tag > k_last_primitive) {
        return refused(at, "primitive code " + std::to_string(*tag) + " is reserved");
      }
      type.primitive = static_cast<Primitive>(*tag);
      return {};
    }
    type.kind = static_cast<TypeKind>(*tag);
    switch (type.kind) {
      case TypeKind::structure: {
        VARVE_ASSIGN(type.name, text());
        return read_fields(type.fields);
      }
      case TypeKind::enumeration:
        return read_enumeration(type);
      case TypeKind::opaque:
        return read_opaque(type);
      case TypeKind::pointer:
      case TypeKind::sequence:
      case TypeKind::packed:
      case TypeKind::slotted:
        return read_references(type, 1);
      case TypeKind::small:
        return read_references(type, 2);
      default:
        return refused(at, "type tag " + std::to_string(*tag) + " is reserved or unassigned");
    }
  }

  Result<void> read_enumeration(Type& type) {
    VARVE_ASSIGN(type.name, text());
    const std::size_t at = cursor_.position();
    type.width = cursor_.u8().value_or(0);
    if (type.width != 1 && type.width != 2 && type.width != 4 && type.width != 8) {
      return refused(at, "a discriminant is 1, 2, 4 or 8 bytes wide");
    }
    VARVE_ASSIGN(const std::uint64_t count, number("the number of variants"));
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::size_t variant_at = cursor_.position();
      TypeVariant variant;
      VARVE_ASSIGN(variant.discriminant, number("a discriminant"));
      const bool ascends =
          type.variants.empty() || type.variants.back().discriminant < variant.discriminant;
      if (!ascends || (type.width < 8 && variant.discriminant >> (8 * type.width) != 0)) {
        return refused(variant_at, "discriminants ascend and fit their width");
      }
      VARVE_ASSIGN(variant.name, text());
      VARVE_TRY(read_fields(variant.fields));
      type.variants.push_back(std::move(variant));
    }
    return {};
  }

  Result<void> read_opaque(Type& type) {
    VARVE_ASSIGN(type.library, text());
    VARVE_ASSIGN(type.name, text());
    VARVE_ASSIGN(type.major, number("a version"));
    VARVE_ASSIGN(type.minor, number("a version"));
    VARVE_ASSIGN(type.patch, number("a version"));
    VARVE_ASSIGN(type.inline_size, number("a size"));
    VARVE_ASSIGN(const std::uint64_t count, number("the number of parameters"));
    return read_references(type, count);
  }

  Result<void> read_fields(std::vector<TypeField>& fields) {
    VARVE_ASSIGN(const std::uint64_t count, number("the number of fields"));
    for (std::uint64_t i = 0; i < count; ++i) {
      TypeField field;
      VARVE_ASSIGN(field.name, text());
      VARVE_ASSIGN(field.type, reference());
      fields.push_back(std::move(field));
    }
    return {};
  }

  Result<void> read_references(Type& type, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      VARVE_ASSIGN(const std::uint32_t target, reference());
      type.references.push_back(target);
    }
    return {};
  }

  Result<std::uint64_t> number(const char* what) {
    const std::size_t at = cursor_.position();
    const auto value = cursor_.varint();
    if (!value) {
      return refused(at, std::string("the table ends inside ") + what + ", or it is too large");
    }
    return *value;
  }
  Result<std::uint32_t> reference() {
    const std::size_t at = cursor_.position();
    VARVE_ASSIGN(const std::uint64_t index, number("a reference"));
    if (index >= count_) {
      return refused(
          at, "a reference to type " + std::to_string(index) + " of " + std::to_string(count_));
    }
    return static_cast<std::uint32_t>(index);
  }
  Result<std::string> text() {
    const std::size_t at = cursor_.position();
    VARVE_ASSIGN(const std::uint64_t length, number("a name's length"));
    const auto bytes = cursor_.bytes(length);
    if (!bytes || !base::is_utf8(base::as_text(*bytes))) {
      return refused(at, bytes ? "a name is not UTF-8" : "the table ends inside a name");
    }
    return std::string(base::as_text(*bytes));
  }

  base::ByteCursor cursor_;
  std::uint64_t count_ = 0;
};

void put_text(base::ByteWriter& out, std::string_view text) {
  out.varint(text.size());
  out.text(text);
}

void put_fields(base::ByteWriter& out, const std::vector<TypeField>& fields) {
  out.varint(fields.size());
  for (const TypeField& field : fields) {
    put_text(out, field.name);
    out.varint(field.type);
  }
}

void put_type(base::ByteWriter& out, const Type& type) {
  if (type.kind == TypeKind::primitive) {
    return out.u8(static_cast<std::uint8_t>(type.primitive));
  }
  out.u8(static_cast<std::uint8_t>(type.kind));
  switch (type.kind) {
    case TypeKind::structure:
      put_text(out, type.name);
      put_fields(out, type.fields);
      break;
    case TypeKind::enumeration:
      put_text(out, type.name);
      out.u8(type.width);
      out.varint(type.variants.size());
      for (const TypeVariant& variant : type.variants) {
        out.varint(variant.discriminant);
        put_text(out, variant.name);
        put_fields(out, variant.fields);
      }
      break;
    case TypeKind::opaque:
      put_text(out, type.library);
      put_text(out, type.name);
      for (const std::uint64_t value : {type.major, type.minor, type.patch, type.inline_size,
                                        std::uint64_t{type.references.size()}}) {
        out.varint(value);
      }
      [[fallthrough]];
    default:
      for (const std::uint32_t reference : type.references) {
        out.varint(reference);
      }
      break;
  }
}

}  // namespace

Result<TypeTable> decode_type_table(std::span<const std::byte> bytes, TypeRules rules) {
  VARVE_ASSIGN(TypeTable table, TypeDecoder(bytes).run());
  if (rules == TypeRules::all) {
    if (const auto breach = find_breach(table)) {
      return refused(0, *breach);
    }
  }
  return table;
}

Result<std::vector<std::byte>> encode_type_table(const TypeTable& table, TypeRules rules) {
  base::Bytes out;
  base::ByteWriter writer(out);
  writer.varint(table.size());
  for (const Type& type : table) {
    put_type(writer, type);
  }
  // What decodes is what may be written: one set of rules for both.
  if (auto decoded = decode_type_table(out, rules); !decoded) {
    Error error = std::move(decoded).error();
    error.code = ErrorCode::invalid_argument;
    return std::unexpected(std::move(error));
  }
  return out;
}

}  // namespace varve::kladde
