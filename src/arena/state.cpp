// SPDX-License-Identifier: MIT OR Apache-2.0
#include "arena/state.hpp"

#include <utility>

#include "arena/json_text.hpp"

namespace varve::arena {

namespace {

// Collects the bytes that identify a thing, each part with its length.
class Identity {
 public:
  explicit Identity(std::string_view kind) { add(kind); }
  Identity& add(std::string_view text) {
    number(text.size());
    bytes_ += text;
    return *this;
  }
  Identity& number(std::uint64_t value) {
    char raw[8];
    base::store_le(raw, value);
    bytes_.append(raw, sizeof raw);
    return *this;
  }
  Identity& add(const base::Hash128& hash) { return number(hash.high).number(hash.low); }
  base::Hash128 hash() const { return base::xxh3_128(base::as_bytes(bytes_)); }

 private:
  std::string bytes_;
};

// A sum of hashes does not depend on their order.
void accumulate(base::Hash128& sum, const base::Hash128& item) {
  sum.low += item.low;
  sum.high += item.high + (sum.low < item.low ? 1 : 0);
}

VectorPtr make_composed(std::shared_ptr<const Composition> from, bool created_atom,
                        std::string_view atom) {
  VectorValue value;
  Identity identity(created_atom ? "created atom" : "composed");
  identity.add(from->id);
  for (std::size_t i = 0; i < 3; ++i) {
    identity.add(from->parts[i]);
    identity.add(from->inputs[i] ? from->inputs[i]->digest : base::Hash128{});
  }
  identity.add(atom);
  value.digest = identity.hash();
  value.composed = std::move(from);
  value.created_atom = created_atom;
  return std::make_shared<const VectorValue>(std::move(value));
}

std::string compact(std::string_view token) {
  std::string out;
  append_compact(out, token);
  return out;
}

}  // namespace

VectorPtr make_vector(SparseVector vector) {
  VectorValue value;
  Identity identity("vector");
  identity.number(vector.dim);
  for (const std::uint32_t index : vector.indices) {
    identity.number(index);
  }
  value.digest = identity.hash();
  value.vector = std::move(vector);
  return std::make_shared<const VectorValue>(std::move(value));
}

// Removes what carries this id as a vector, atom or composite.
void LiveState::remove_everything(const std::string& id) {
  vectors.erase(id);
  atoms.erase(id);
  composites.erase(id);
  triples.erase(id);
}

void LiveState::drop_children(const std::string& id) {
  const auto node = derived.extract(id);
  if (node.empty()) {
    return;
  }
  for (const std::string& child : node.mapped()) {
    remove_everything(child);
  }
}

void LiveState::remove_document(const std::string& id) {
  const auto node = documents.extract(id);
  if (node.empty()) {
    return;
  }
  for (const std::string& chunk : node.mapped().chunk_ids) {
    vectors.erase(chunk);
  }
}

void LiveState::set_document(const Mutation& mutation) {
  const std::string id = text_of(mutation.values[0]);
  remove_document(id);
  LiveDocument document;
  document.source_uri = mutation.values[1];
  document.version = mutation.values[2];
  document.metadata = compact(mutation.values[3]);
  document.chunks = "[";
  for (const Chunk& chunk : chunks_of(mutation.values[4])) {
    if (document.chunks.size() > 1) {
      document.chunks += ',';
    }
    encode_chunk(chunk, document.chunks);
    const std::string& chunk_id =
        document.chunk_ids.emplace_back(text_of(chunk.value(ChunkField::id)));
    vectors[chunk_id] = {make_vector(vector_of(chunk.value(ChunkField::vector))), true};
    document.has_null_text |= chunk.value(ChunkField::text) == "null";
  }
  document.chunks += ']';
  document.chunks.shrink_to_fit();
  documents[id] = std::move(document);
}

// Triplet: what the engine would compute, as where it comes from.
void LiveState::compose(const Mutation& mutation) {
  auto composition = std::make_shared<Composition>();
  composition->id = text_of(mutation.values[0]);
  composition->order = order_;
  drop_children(composition->id);
  for (std::size_t i = 0; i < 3; ++i) {
    composition->parts[i] = text_of(mutation.values[i + 1]);
    const auto atom = atoms.find(composition->parts[i]);
    composition->inputs[i] = atom == atoms.end() ? nullptr : atom->second;
  }
  const std::shared_ptr<const Composition> from = composition;
  for (std::size_t i = 0; i < 3; ++i) {
    VectorPtr& atom = atoms[from->parts[i]];
    if (!atom) {
      atom = make_composed(from, true, from->parts[i]);
    }
  }
  const VectorPtr composed = make_composed(from, false, {});
  composites[from->id] = composed;
  vectors[from->id] = {composed, false};
  triples[from->id] = {{from->parts[0], from->parts[1], from->parts[2], from}};
}

void LiveState::apply(const Mutation& mutation) {
  ++order_;
  const auto& values = mutation.values;
  switch (mutation.kind) {
    case MutationKind::vector: {
      const std::string id = text_of(values[0]);
      drop_children(id);
      composites.erase(id);
      triples.erase(id);
      const VectorPtr value = make_vector(vector_of(values[1]));
      vectors[id] = {value, false};
      if (meaning_enabled_) {
        atoms[id] = value;
      }
      break;
    }
    case MutationKind::atom:
      if (meaning_enabled_) {
        atoms[text_of(values[0])] = make_vector(vector_of(values[1]));
      }
      break;
    case MutationKind::composite: {
      const std::string id = text_of(values[0]);
      const VectorPtr value = make_vector(vector_of(values[1]));
      composites[id] = value;
      vectors[id] = {value, false};
      break;
    }
    case MutationKind::stored_triple:
      triples[text_of(values[3])].push_back(
          {text_of(values[0]), text_of(values[1]), text_of(values[2]), nullptr});
      break;
    case MutationKind::document:
      set_document(mutation);
      break;
    case MutationKind::derived:
      derived[text_of(values[0])] = ids_of(values[1]);
      break;
    case MutationKind::delete_document:
      remove_document(text_of(values[0]));
      break;
    case MutationKind::delete_id: {
      const std::string id = text_of(values[0]);
      drop_children(id);
      remove_everything(id);
      break;
    }
    case MutationKind::triplet:
      compose(mutation);
      break;
    case MutationKind::relation:
      relations[{text_of(values[0]), text_of(values[1]), text_of(values[2])}] = {
          std::string(values[3]), std::string(values[4]), std::string(values[5])};
      break;
    case MutationKind::remove_relation:
      relations.erase({text_of(values[0]), text_of(values[1]), text_of(values[2])});
      break;
    case MutationKind::relation_type:
      relation_types[text_of(values[0])] = {values[1] == "true", values[2] == "true"};
      break;
    case MutationKind::rule:
      rules.push_back({text_of(values[0]), ids_of(values[1]), text_of(values[2])});
      break;
  }
}

base::Hash128 LiveState::digest() const {
  base::Hash128 sum;
  for (const auto& [id, vector] : vectors) {
    accumulate(sum, Identity("vector").add(id).add(vector.value->digest).hash());
  }
  for (const auto& [id, value] : atoms) {
    accumulate(sum, Identity("atom").add(id).add(value->digest).hash());
  }
  for (const auto& [id, value] : composites) {
    accumulate(sum, Identity("composite").add(id).add(value->digest).hash());
  }
  for (const auto& [id, document] : documents) {
    accumulate(sum, Identity("document")
                        .add(id)
                        .add(document.source_uri)
                        .add(document.version)
                        .add(document.metadata)
                        .add(document.chunks)
                        .hash());
  }
  for (const auto& [id, children] : derived) {
    Identity identity("derived");
    identity.add(id);
    for (const std::string& child : children) {
      identity.add(child);
    }
    accumulate(sum, identity.hash());
  }
  for (const auto& [id, list] : triples) {
    Identity identity("triples");
    identity.add(id);
    for (const LiveTriple& triple : list) {
      identity.add(triple.subject_id).add(triple.relation_id).add(triple.object_id);
    }
    accumulate(sum, identity.hash());
  }
  for (const auto& [edge, relation] : relations) {
    accumulate(sum, Identity("relation")
                        .add(std::get<0>(edge))
                        .add(std::get<1>(edge))
                        .add(std::get<2>(edge))
                        .add(relation.properties)
                        .add(relation.valid_from)
                        .add(relation.valid_to)
                        .hash());
  }
  for (const auto& [name, type] : relation_types) {
    accumulate(sum, Identity("relation type")
                        .add(name)
                        .number(type.transitive ? 1 : 0)
                        .number(type.symmetric ? 1 : 0)
                        .hash());
  }
  std::uint64_t position = 0;
  for (const LiveRule& rule : rules) {
    Identity identity("rule");
    identity.number(position++).add(rule.name).add(rule.output_relation);
    for (const std::string& relation : rule.input_relations) {
      identity.add(relation);
    }
    accumulate(sum, identity.hash());
  }
  return sum;
}

}  // namespace varve::arena
