// SPDX-License-Identifier: MIT OR Apache-2.0
// Encoding, and reading of accepted tokens. Decoding is in transaction_decode.cpp.
#include "arena/transaction.hpp"

#include <algorithm>

#include "arena/json_text.hpp"
#include "arena/mutation_table.hpp"
#include "base/json_writer.hpp"

namespace varve::arena {

TransactionForm form_of(base::ByteSpan payload) {
  const std::string_view text = base::as_text(payload);
  if (text.starts_with(k_txn2_magic)) {
    return TransactionForm::txn2;
  }
  if (text.starts_with(k_txn3_magic)) {
    return TransactionForm::txn3;
  }
  if (!text.starts_with(k_txn_prefix)) {
    return TransactionForm::unknown;
  }
  std::size_t at = k_txn_prefix.size();
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
    ++at;
  }
  const bool other = at > k_txn_prefix.size() && at < text.size() && text[at] == '\0';
  return other ? TransactionForm::other_txn : TransactionForm::unknown;
}

std::string_view to_text(MutationKind kind) { return spec_of(kind).name; }

std::span<const std::string_view> keys_of(MutationKind kind) {
  static const auto table = [] {
    std::array<std::array<std::string_view, k_max_mutation_fields>, k_mutation_kinds> keys{};
    for (std::size_t i = 0; i < k_mutation_kinds; ++i) {
      for (std::size_t k = 0; k < k_mutations[i].key_count; ++k) {
        keys[i][k] = k_mutations[i].keys[k].key;
      }
    }
    return keys;
  }();
  const auto index = static_cast<std::size_t>(kind);
  return std::span(table[index]).first(k_mutations[index].key_count);
}

namespace {

// Keys whose value is a vector: its own keys have an order too.
void append_value(std::string& out, std::string_view key, std::string_view token) {
  if (key == "vector" && !token.starts_with("{\"dim\":")) {
    append_vector(out, vector_of(token));
  } else {
    append_compact(out, token);
  }
}

void append_members(std::string& out, std::span<const std::string_view> keys,
                    std::span<const std::string_view> values) {
  out += '{';
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i > 0) {
      out += ',';
    }
    out += '"';
    out += keys[i];
    out += "\":";
    append_value(out, keys[i], values[i]);
  }
  out += '}';
}

}  // namespace

void encode_mutation(const Mutation& mutation, std::string& out) {
  out += "{\"";
  out += to_text(mutation.kind);
  out += "\":";
  const auto keys = keys_of(mutation.kind);
  const std::span<const std::string_view> values(mutation.values);
  if (mutation.kind != MutationKind::document) {
    append_members(out, keys, values.first(keys.size()));
    out += '}';
    return;
  }
  // The chunks have an order of keys of their own.
  append_members(out, keys.first(keys.size() - 1), values.first(keys.size() - 1));
  out.back() = ',';
  out += "\"chunks\":[";
  bool first = true;
  for (const Chunk& chunk : chunks_of(values[keys.size() - 1])) {
    if (!first) {
      out += ',';
    }
    first = false;
    encode_chunk(chunk, out);
  }
  out += "]}}";
}

void encode_chunk(const Chunk& chunk, std::string& out) {
  append_members(out, k_chunk_keys, chunk.values);
}

void encode_transaction(std::span<const Mutation> mutations, std::string& out) {
  out += k_txn2_magic;
  out += '[';
  for (std::size_t i = 0; i < mutations.size(); ++i) {
    if (i > 0) {
      out += ',';
    }
    encode_mutation(mutations[i], out);
  }
  out += ']';
}

bool is_canonical(base::ByteSpan payload, std::span<const Mutation> mutations,
                  std::string& scratch) {
  scratch.clear();
  encode_transaction(mutations, scratch);
  return scratch == base::as_text(payload);
}

std::string text_of(std::string_view string_token) {
  std::string scratch;
  return std::string(unescape(string_token, scratch));
}

SparseVector vector_of(std::string_view vec_token) {
  SparseVector out;
  JsonReader reader(vec_token);
  reader.object([&](std::string_view key) {
    std::string_view token;
    std::string scratch;
    const std::string_view name = unescape(key, scratch);
    if (name == "dim") {
      reader.number(token);
      out.dim = unsigned_integer(token).value_or(0);
      return true;
    }
    if (name == "indices") {
      return reader.array([&] {
        reader.number(token);
        out.indices.push_back(static_cast<std::uint32_t>(unsigned_integer(token).value_or(0)));
        return true;
      });
    }
    return reader.value(token);
  });
  return out;
}

std::vector<std::string> ids_of(std::string_view array_token) {
  std::vector<std::string> out;
  JsonReader reader(array_token);
  reader.array([&] {
    std::string_view token;
    reader.string(token);
    out.push_back(text_of(token));
    return true;
  });
  return out;
}

std::vector<Chunk> chunks_of(std::string_view array_token) {
  std::vector<Chunk> out;
  JsonReader reader(array_token);
  reader.array([&] {
    Chunk chunk;
    chunk.values.fill("null");
    const bool good = reader.object([&](std::string_view key) {
      std::string scratch;
      std::string_view token;
      const auto at = std::ranges::find(k_chunk_keys, unescape(key, scratch));
      if (!reader.value(token)) {
        return false;
      }
      if (at != k_chunk_keys.end()) {
        chunk.values[static_cast<std::size_t>(at - k_chunk_keys.begin())] = token;
      }
      return true;
    });
    out.push_back(chunk);
    return good;
  });
  return out;
}

void append_vector(std::string& out, const SparseVector& vector) {
  out += "{\"dim\":";
  base::append_integer(out, vector.dim);
  out += ",\"indices\":[";
  for (std::size_t i = 0; i < vector.indices.size(); ++i) {
    if (i > 0) {
      out += ',';
    }
    base::append_integer(out, vector.indices[i]);
  }
  out += "]}";
}

}  // namespace varve::arena
