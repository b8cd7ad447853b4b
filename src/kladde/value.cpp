// SPDX-License-Identifier: MIT OR Apache-2.0
#include "kladde/value.hpp"

#include <bit>
#include <limits>

#include "base/cursor.hpp"
#include "kladde/layout.hpp"
#include "kladde/statement.hpp"

namespace varve::kladde {

namespace {

constexpr std::uint8_t k_small_spilled = 255;
constexpr std::uint32_t k_largest_character = 0x10FFFF;

bool is_character(std::uint32_t value) {
  return value <= k_largest_character && (value < 0xD800 || value > 0xDFFF);
}

std::string utf8_of(std::uint32_t c) {
  std::string out;
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | (c >> 6));
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | (c >> 12));
    put(0x80 | ((c >> 6) & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | (c >> 18));
    put(0x80 | ((c >> 12) & 0x3F));
    put(0x80 | ((c >> 6) & 0x3F));
    put(0x80 | (c & 0x3F));
  }
  return out;
}

std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

// One value, read front to back. Nesting is bounded by the rules of the table.
class Reading {
 public:
  Reading(const TypeTable& table, const std::vector<std::optional<std::uint64_t>>& sizes,
          base::ByteSpan bytes, bool want_json)
      : table_(table), sizes_(sizes), cursor_(bytes), want_json_(want_json) {}

  std::expected<ValueRead, ValueFault> run(std::uint32_t type, Encoding encoding) {
    Json json;
    bool good = false;
    if (table_[type].kind == TypeKind::packed) {
      good = read_content(table_[type].references.front(), Encoding::packed, json);
    } else {
      good = read_content(type, encoding, json);
    }
    if (good && !cursor_.at_end()) {
      good = fault("bytes follow the value");
    }
    if (!good) {
      return std::unexpected(fault_);
    }
    out_.json = std::move(json);
    return std::move(out_);
  }

 private:
  bool fault(const char* what) {
    fault_ = {cursor_.position(), what};
    return false;
  }
  bool cut() { return fault("the value ends inside a field"); }

  bool read_content(std::uint32_t index, Encoding encoding, Json& json) {
    return table_[index].kind == TypeKind::sequence ? read_sequence(index, encoding, json)
                                                    : read(index, encoding, json);
  }

  // A sequence goes on to the end of what holds it.
  bool read_sequence(std::uint32_t index, Encoding encoding, Json& json) {
    const std::uint32_t element = table_[index].references.front();
    const Type& type = table_[element];
    if (type.kind == TypeKind::primitive &&
        (type.primitive == Primitive::u8 ||
         (type.primitive == Primitive::character && encoding == Encoding::packed))) {
      // Texts and byte strings as what they are.
      const base::ByteSpan rest = *cursor_.bytes(cursor_.remaining());
      if (want_json_) {
        json = Json(base::as_text(rest));
      }
      return true;
    }
    json = want_json_ ? Json::array() : Json();
    while (!cursor_.at_end()) {
      const std::size_t before = cursor_.position();
      Json value;
      if (!read(element, encoding, value)) {
        return false;
      }
      if (cursor_.position() == before) {
        return fault("elements without bytes cannot be counted");
      }
      if (want_json_) {
        json.push(std::move(value));
      }
    }
    return true;
  }

  bool read(std::uint32_t index, Encoding encoding, Json& json) {
    const Type& type = table_[index];
    switch (type.kind) {
      case TypeKind::primitive:
        return encoding == Encoding::slotted ? read_slotted(type.primitive, json)
                                             : read_packed(type.primitive, json);
      case TypeKind::structure:
        json = want_json_ ? Json::object() : Json();
        return read_fields(type.fields, encoding, json);
      case TypeKind::enumeration:
        return read_enumeration(type, index, encoding, json);
      case TypeKind::opaque:
        return read_opaque(type, json);
      case TypeKind::pointer:
        return read_pointer(type, encoding, json);
      case TypeKind::slotted:
        return read(type.references.front(), Encoding::slotted, json);
      case TypeKind::small:
        return read_small(type, json);
      default:
        return fault("the type cannot stand here");
    }
  }

  bool read_fields(const std::vector<TypeField>& fields, Encoding encoding, Json& json) {
    for (const TypeField& field : fields) {
      Json value;
      if (!read(field.type, encoding, value)) {
        return false;
      }
      if (want_json_) {
        json.set(field.name, std::move(value));
      }
    }
    return true;
  }

  bool read_enumeration(const Type& type, std::uint32_t index, Encoding encoding, Json& json) {
    const std::size_t begin = cursor_.position();
    std::uint64_t discriminant = 0;
    if (encoding == Encoding::slotted ? !take_fixed(type.width, discriminant)
                                      : !take_varint(8 * type.width, discriminant)) {
      return false;
    }
    const TypeVariant* variant = nullptr;
    for (const TypeVariant& candidate : type.variants) {
      variant = candidate.discriminant == discriminant ? &candidate : variant;
    }
    if (variant == nullptr) {
      return fault("no variant has this discriminant");
    }
    Json fields = want_json_ ? Json::object() : Json();
    if (!read_fields(variant->fields, encoding, fields)) {
      return false;
    }
    if (encoding == Encoding::slotted) {
      const std::uint64_t used = cursor_.position() - begin;
      const auto padding = cursor_.bytes(*sizes_[index] - used);
      if (!padding) {
        return cut();
      }
    }
    if (want_json_) {
      json = variant->fields.empty() ? Json(variant->name)
                                     : Json::object().set(variant->name, std::move(fields));
    }
    return true;
  }

  bool read_opaque(const Type& type, Json& json) {
    const auto bytes = cursor_.bytes(type.inline_size);
    if (!bytes) {
      return cut();
    }
    out_.opaque = true;
    if (want_json_) {
      std::string name = type.library;
      name.append("::").append(type.name);
      json = Json::object().set("$opaque", std::move(name)).set("bytes", bytes_json(*bytes));
    }
    return true;
  }

  bool read_pointer(const Type& type, Encoding encoding, Json& json) {
    std::uint64_t target = 0;
    if (encoding == Encoding::slotted ? !take_fixed(4, target) : !take_varint(32, target)) {
      return false;
    }
    if (target != 0) {
      out_.pointers.push_back({static_cast<Id>(target), type.references.front()});
    }
    if (want_json_ && target != 0) {
      json = Json::object().set("$pointer", static_cast<std::uint32_t>(target));
    }
    return true;
  }

  bool read_small(const Type& type, Json& json) {
    const auto tag = cursor_.u8();
    if (!tag) {
      return cut();
    }
    if (*tag == k_small_spilled) {
      return read(type.references[1], Encoding::packed, json);
    }
    const std::size_t at = cursor_.position();
    const auto content = cursor_.bytes(*tag);
    if (!content) {
      return cut();
    }
    Reading inner(table_, sizes_, *content, want_json_);
    auto read = inner.run(type.references[0], Encoding::packed);
    if (!read) {
      fault_ = {at + read.error().offset, read.error().what};
      return false;
    }
    json = std::move(read->json);
    out_.pointers.insert(out_.pointers.end(), read->pointers.begin(), read->pointers.end());
    out_.opaque = out_.opaque || read->opaque;
    return true;
  }

  static Json bytes_json(base::ByteSpan bytes) {
    std::string out;
    for (const std::byte b : bytes) {
      constexpr const char* digits = "0123456789abcdef";
      out += digits[base::u8(b) >> 4];
      out += digits[base::u8(b) & 15];
    }
    return Json(std::move(out));
  }

  bool take_fixed(unsigned bytes, std::uint64_t& out) {
    const auto span = cursor_.bytes(bytes);
    if (!span) {
      return cut();
    }
    out = 0;
    for (unsigned i = 0; i < bytes; ++i) {
      out |= std::uint64_t{base::u8((*span)[i])} << (8 * i);
    }
    return true;
  }
  // A minimal varint of at most so many bits.
  bool take_varint(unsigned bits, std::uint64_t& out) {
    const std::size_t before = cursor_.position();
    const auto value = cursor_.varint();
    if (!value) {
      return fault("the value ends inside a varint, or it is too large");
    }
    out = *value;
    if (cursor_.position() - before != varint_bytes(out) || (bits < 64 && out >> bits != 0)) {
      return fault("a varint that is not minimal, or out of range");
    }
    return true;
  }

  bool put_integer(std::uint64_t value, unsigned bits, Json& json) {
    json = bits == 64 ? Json(value) : Json(static_cast<std::uint32_t>(value));
    return true;
  }
  bool put_signed(std::int64_t value, unsigned bits, Json& json) {
    if (bits < 64 &&
        (value < -(std::int64_t{1} << (bits - 1)) || value >= std::int64_t{1} << (bits - 1))) {
      return fault("an integer out of range");
    }
    json = bits == 64 ? Json(value) : Json(static_cast<int>(value));
    return true;
  }

  bool read_slotted(Primitive primitive, Json& json) {
    std::uint64_t raw = 0;
    const auto take = [&](unsigned bytes) { return take_fixed(bytes, raw); };
    switch (primitive) {
      case Primitive::u16:
        return take(2) && put_integer(raw, 16, json);
      case Primitive::u32:
        return take(4) && put_integer(raw, 32, json);
      case Primitive::u64:
        return take(8) && put_integer(raw, 64, json);
      case Primitive::i16:
        return take(2) && put_signed(static_cast<std::int16_t>(raw), 16, json);
      case Primitive::i32:
        return take(4) && put_signed(static_cast<std::int32_t>(raw), 32, json);
      case Primitive::i64:
        return take(8) && put_signed(static_cast<std::int64_t>(raw), 64, json);
      case Primitive::character:
        if (!take(4)) {
          return false;
        }
        if (!is_character(static_cast<std::uint32_t>(raw))) {
          return fault("no character has this number");
        }
        json = Json(utf8_of(static_cast<std::uint32_t>(raw)));
        return true;
      default:
        return read_plain(primitive, json);
    }
  }

  // What is the same in both encodings.
  bool read_plain(Primitive primitive, Json& json) {
    std::uint64_t raw = 0;
    const unsigned bytes = primitive == Primitive::f64 ? 8 : primitive == Primitive::f32 ? 4 : 1;
    if (!take_fixed(bytes, raw)) {
      return false;
    }
    switch (primitive) {
      case Primitive::i8:
        return put_signed(static_cast<std::int8_t>(raw), 8, json);
      case Primitive::f32:
        json = Json(double{std::bit_cast<float>(static_cast<std::uint32_t>(raw))});
        return true;
      case Primitive::f64:
        json = Json(std::bit_cast<double>(raw));
        return true;
      case Primitive::boolean:
        if (raw > 1) {
          return fault("a bool is 0 or 1");
        }
        json = Json(raw == 1);
        return true;
      default:
        return put_integer(raw, 8, json);
    }
  }

  bool read_packed(Primitive primitive, Json& json) {
    std::uint64_t raw = 0;
    const auto take_number = [&](unsigned bits) {
      return take_varint(bits, raw) && put_integer(raw, bits, json);
    };
    const auto take_signed = [&](unsigned bits) {
      return take_varint(bits, raw) && put_signed(unzigzag(raw), bits, json);
    };
    switch (primitive) {
      case Primitive::u16:
        return take_number(16);
      case Primitive::u32:
        return take_number(32);
      case Primitive::u64:
        return take_number(64);
      case Primitive::i16:
        return take_signed(16);
      case Primitive::i32:
        return take_signed(32);
      case Primitive::i64:
        return take_signed(64);
      case Primitive::character:
        return read_utf8(json);
      default:
        return read_plain(primitive, json);
    }
  }

  bool read_utf8(Json& json) {
    const auto first = cursor_.peek_u8();
    if (!first) {
      return cut();
    }
    const unsigned length = *first < 0x80 ? 1 : *first < 0xE0 ? 2 : *first < 0xF0 ? 3 : 4;
    const auto bytes = cursor_.bytes(length);
    if (!bytes) {
      return cut();
    }
    json = Json(base::as_text(*bytes));  // written as bytes if it is not UTF-8
    return true;
  }

  const TypeTable& table_;
  const std::vector<std::optional<std::uint64_t>>& sizes_;
  base::ByteCursor cursor_;
  bool want_json_;
  ValueRead out_;
  ValueFault fault_;
};

}  // namespace

std::expected<ValueRead, ValueFault> ValueReader::read_root(base::ByteSpan bytes,
                                                            bool want_json) const {
  return Reading(table_, sizes_, bytes, want_json)
      .run(0, sizes_.front() ? Encoding::slotted : Encoding::packed);
}

std::expected<ValueRead, ValueFault> ValueReader::read_target(std::uint32_t type,
                                                              base::ByteSpan bytes,
                                                              bool want_json) const {
  return Reading(table_, sizes_, bytes, want_json).run(type, Encoding::slotted);
}

bool ValueReader::may_point(std::uint32_t type) const {
  std::vector<bool> seen(table_.size());
  std::vector<std::uint32_t> waiting{type};
  while (!waiting.empty()) {
    const Type& at = table_[waiting.back()];
    const bool fresh = !seen[waiting.back()];
    seen[waiting.back()] = true;
    waiting.pop_back();
    if (!fresh) {
      continue;
    }
    if (at.kind == TypeKind::pointer || at.kind == TypeKind::opaque) {
      return true;
    }
    const auto add = [&](const std::vector<TypeField>& fields) {
      for (const TypeField& field : fields) {
        waiting.push_back(field.type);
      }
    };
    add(at.fields);
    for (const TypeVariant& variant : at.variants) {
      add(variant.fields);
    }
    waiting.insert(waiting.end(), at.references.begin(), at.references.end());
  }
  return false;
}

}  // namespace varve::kladde
