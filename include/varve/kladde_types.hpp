// SPDX-License-Identifier: MIT OR Apache-2.0
// Type descriptors of kladde stores, their canonical encoding and their fingerprints (Appendices B
// and C of the format description). The store layer keeps them and never looks inside.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "varve/result.hpp"

namespace varve::kladde {

// The first 16 bytes of a SHA-256 digest; all zero where a store names no root type.
using Fingerprint = std::array<std::byte, 16>;

// Kinds with their tag bytes; every tag below 128 is a primitive.
enum class TypeKind : std::uint8_t {
  primitive = 0,
  structure = 128,
  enumeration = 129,
  opaque = 130,
  pointer = 132,
  sequence = 133,
  packed = 134,
  slotted = 135,
  small = 136,
};

enum class Primitive : std::uint8_t {
  u8,
  u16,
  u32,
  u64,
  i8,
  i16,
  i32,
  i64,
  f32,
  f64,
  boolean,
  character
};

struct TypeField {
  std::string name;        // UTF-8; positional fields are "0", "1"...
  std::uint32_t type = 0;  // index into the table
};

struct TypeVariant {
  std::uint64_t discriminant = 0;
  std::string name;
  std::vector<TypeField> fields;
};

// One descriptor. Which members have a meaning depends on the kind.
struct Type {
  TypeKind kind = TypeKind::primitive;
  Primitive primitive = Primitive::u8;
  std::string name;                   // structure, enumeration; opaque: the type
  std::string library;                // opaque
  std::vector<TypeField> fields;      // structure
  std::uint8_t width = 0;             // enumeration: bytes of the discriminant, 1, 2, 4 or 8
  std::vector<TypeVariant> variants;  // enumeration, in ascending order of discriminants
  std::uint64_t major = 0, minor = 0, patch = 0;  // opaque: the version
  std::uint64_t inline_size = 0;                  // opaque: bytes of a value
  // opaque: the parameters; pointer, sequence, packed, slotted: the target; small: the content and
  // what it spills to.
  std::vector<std::uint32_t> references;
};

// A descriptor table; index 0 is the root.
using TypeTable = std::vector<Type>;

// Whether a table must also be one that values can be stored by.
enum class TypeRules : std::uint8_t {
  all,         // everything that Appendix B has a decoder refuse
  references,  // tags, fields and references only: enough for a fingerprint, not for values
};

// Decodes exactly one table. ErrorCode::damaged, reason "malformed-type-table", with the offset in
// `bytes`, for what a decoder refuses.
Result<TypeTable> decode_type_table(std::span<const std::byte> bytes,
                                    TypeRules rules = TypeRules::all);
// The canonical encoding. ErrorCode::invalid_argument if the table breaks a rule.
Result<std::vector<std::byte>> encode_type_table(const TypeTable& table,
                                                 TypeRules rules = TypeRules::all);

// The fingerprint of the root type. The table must be one that decode_type_table() accepts under
// TypeRules::references. Names of structures and enumerations, the order of the table and
// compatible versions do not count.
Fingerprint type_fingerprint(const TypeTable& table);

}  // namespace varve::kladde
