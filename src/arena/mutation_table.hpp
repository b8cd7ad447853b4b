// SPDX-License-Identifier: MIT OR Apache-2.0
// The table of section 10.1: each mutation's name, keys and value types.
#pragma once

#include <array>
#include <string_view>

#include "arena/transaction.hpp"

namespace varve::arena {

enum class ValueType : std::uint8_t {
  id,             // string of 1..=65535 bytes without NUL
  text,           // any string
  optional_text,  // string or null
  boolean,
  vector,
  time,      // finite number >= 0
  any,       // any JSON
  chunks,    // section 10.1, last paragraph
  children,  // ids derived from the mutation's id
  ids,
};

struct KeySpec {
  std::string_view key;
  ValueType type = ValueType::any;
};

struct MutationSpec {
  std::string_view name;
  bool needs_meaning = false;
  std::array<KeySpec, k_max_mutation_fields> keys{};
  std::size_t key_count = 0;
};

template <std::size_t N>
constexpr MutationSpec mutation_spec(std::string_view name, bool needs_meaning,
                                     const KeySpec (&keys)[N]) {
  MutationSpec spec{name, needs_meaning, {}, N};
  for (std::size_t i = 0; i < N; ++i) {
    spec.keys[i] = keys[i];
  }
  return spec;
}

// Indexed by MutationKind.
inline constexpr std::array<MutationSpec, k_mutation_kinds> k_mutations = {
    mutation_spec("Vector", false, {{"id", ValueType::id}, {"vector", ValueType::vector}}),
    mutation_spec("Atom", false, {{"id", ValueType::id}, {"vector", ValueType::vector}}),
    mutation_spec("Composite", false, {{"id", ValueType::id}, {"vector", ValueType::vector}}),
    mutation_spec("StoredTriple", true,
                  {{"subject_id", ValueType::id},
                   {"relation_id", ValueType::id},
                   {"object_id", ValueType::id},
                   {"composite_id", ValueType::id},
                   {"deleted", ValueType::boolean}}),
    mutation_spec("Document", false,
                  {{"id", ValueType::id},
                   {"source_uri", ValueType::optional_text},
                   {"version", ValueType::text},
                   {"metadata", ValueType::any},
                   {"chunks", ValueType::chunks}}),
    mutation_spec("Derived", false, {{"id", ValueType::id}, {"children", ValueType::children}}),
    mutation_spec("DeleteDocument", false, {{"id", ValueType::id}}),
    mutation_spec("Delete", false, {{"id", ValueType::id}}),
    mutation_spec("Triplet", true,
                  {{"id", ValueType::id},
                   {"subject", ValueType::id},
                   {"relation", ValueType::id},
                   {"object", ValueType::id}}),
    mutation_spec("Relation", false,
                  {{"sourceId", ValueType::text},
                   {"relationType", ValueType::text},
                   {"targetId", ValueType::text},
                   {"properties", ValueType::optional_text},
                   {"validFrom", ValueType::time},
                   {"validTo", ValueType::time}}),
    mutation_spec(
        "RemoveRelation", false,
        {{"source", ValueType::text}, {"relation", ValueType::text}, {"target", ValueType::text}}),
    mutation_spec("RelationType", false,
                  {{"name", ValueType::text},
                   {"transitive", ValueType::boolean},
                   {"symmetric", ValueType::boolean}}),
    mutation_spec("Rule", true,
                  {{"name", ValueType::text},
                   {"input_relations", ValueType::ids},
                   {"output_relation", ValueType::text}}),
};

inline constexpr std::array<std::string_view, k_chunk_fields> k_chunk_keys = {
    "id", "text", "start_byte", "end_byte", "vector", "embedding", "terms", "word_count"};

constexpr const MutationSpec& spec_of(MutationKind kind) {
  return k_mutations[static_cast<std::size_t>(kind)];
}

}  // namespace varve::arena
