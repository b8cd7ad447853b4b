// SPDX-License-Identifier: MIT OR Apache-2.0
// Payloads (section 10): which form one has, and the mutations of HMS-TXN-2, decoded with every
// rule checked and encoded again. A decoded mutation is a list of raw JSON tokens that point into
// the payload, so that nothing is copied and what was read can be written byte for byte.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"

namespace varve::arena {

inline constexpr std::string_view k_txn2_magic{"HMS-TXN-2\0", 10};
inline constexpr std::string_view k_txn3_magic{"HMS-TXN-3\0", 10};
inline constexpr std::string_view k_txn_prefix = "HMS-TXN-";

enum class TransactionForm : std::uint8_t {
  txn2,
  txn3,
  other_txn,  // HMS-TXN-, other digits, NUL: newer or older than what is described
  unknown,
};
TransactionForm form_of(base::ByteSpan payload);

inline constexpr std::size_t k_max_mutations = 4096;
inline constexpr std::size_t k_max_chunks = 4096;
inline constexpr std::size_t k_max_children = 4094;
inline constexpr std::size_t k_max_id_bytes = 65535;
inline constexpr std::uint64_t k_max_document_bytes = 8'388'608;
inline constexpr std::uint64_t k_max_chunk_bytes = 65'536;

// In the order of the table of section 10.1.
enum class MutationKind : std::uint8_t {
  vector,
  atom,
  composite,
  stored_triple,
  document,
  derived,
  delete_document,
  delete_id,
  triplet,
  relation,
  remove_relation,
  relation_type,
  rule,
};
inline constexpr std::size_t k_mutation_kinds = 13;
// "Vector", "StoredTriple"...: the variant name in JSON.
std::string_view to_text(MutationKind kind);

inline constexpr std::size_t k_max_mutation_fields = 6;

// One mutation: the tokens of its body's values, in the key order of the table. A value that may
// be null and is absent has the token "null".
struct Mutation {
  MutationKind kind = MutationKind::vector;
  std::array<std::string_view, k_max_mutation_fields> values;
};
// The keys of a kind, in the order in which they are written.
std::span<const std::string_view> keys_of(MutationKind kind);

// The values of a chunk, in key order: id, text, start_byte, end_byte, vector, embedding, terms,
// word_count.
enum class ChunkField : std::uint8_t {
  id,
  text,
  start_byte,
  end_byte,
  vector,
  embedding,
  terms,
  word_count,
};
inline constexpr std::size_t k_chunk_fields = 8;
struct Chunk {
  std::array<std::string_view, k_chunk_fields> values;
  std::string_view value(ChunkField field) const { return values[static_cast<std::size_t>(field)]; }
};

// What a store demands of its payloads; absent for arenas without store.json.
struct PayloadRules {
  std::optional<std::uint64_t> dimensions;
  bool meaning_enabled = true;
};

// Why a payload was refused. `word` is unsupported-payload or bad-payload (section 9).
struct PayloadFault {
  const char* word = "bad-payload";
  std::uint64_t offset = 0;  // in the payload, of the value that was refused
  const char* what = "";
};

// Decodes a payload of form txn2, checking all of section 10.1. The tokens in `out` point into
// `payload`.
std::optional<PayloadFault> decode_transaction(base::ByteSpan payload, const PayloadRules& rules,
                                               std::vector<Mutation>& out);
// Decodes one mutation object ({"Vector":{...}}), as it also stands in HMS-TXN-3 elements.
std::optional<PayloadFault> decode_mutation(std::string_view json, const PayloadRules& rules,
                                            Mutation& out);

// Appends magic and mutations: compact, keys in the table's order, tokens as they are.
void encode_transaction(std::span<const Mutation> mutations, std::string& out);
void encode_mutation(const Mutation& mutation, std::string& out);
// Appends a chunk as it stands in a document's `chunks`.
void encode_chunk(const Chunk& chunk, std::string& out);

// True if encoding what was decoded gives the same bytes.
bool is_canonical(base::ByteSpan payload, std::span<const Mutation> mutations,
                  std::string& scratch);

// Reading tokens that decode_transaction accepted.
std::string text_of(std::string_view string_token);
struct SparseVector {
  std::uint64_t dim = 0;
  std::vector<std::uint32_t> indices;
  friend bool operator==(const SparseVector&, const SparseVector&) = default;
};
SparseVector vector_of(std::string_view vec_token);
std::vector<std::string> ids_of(std::string_view array_token);
std::vector<Chunk> chunks_of(std::string_view array_token);
// Appends {"dim":..,"indices":[..]}.
void append_vector(std::string& out, const SparseVector& vector);

}  // namespace varve::arena
