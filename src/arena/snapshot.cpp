// SPDX-License-Identifier: MIT OR Apache-2.0
#include "arena/snapshot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "arena/json_text.hpp"
#include "base/json_writer.hpp"

namespace varve::arena {

namespace {

using Write = std::function<Result<void>(std::string_view payload)>;

// The payload of one mutation, its values added in the key order of the table.
class PayloadText {
 public:
  explicit PayloadText(MutationKind kind) : keys_(keys_of(kind)) {
    text_ = k_txn2_magic;
    text_ += "[{\"";
    text_ += to_text(kind);
    text_ += "\":{";
  }
  PayloadText& token(std::string_view json) {
    text_ += next_ == 0 ? "\"" : ",\"";
    text_ += keys_[next_++];
    text_ += "\":";
    text_ += json;
    return *this;
  }
  PayloadText& text(std::string_view value) {
    std::string quoted;
    base::append_json_text(quoted, value);
    return token(quoted);
  }
  PayloadText& boolean(bool value) { return token(value ? "true" : "false"); }
  PayloadText& vector(const SparseVector& value) {
    std::string json;
    append_vector(json, value);
    return token(json);
  }
  PayloadText& texts(const std::vector<std::string>& values) {
    std::string json = "[";
    for (const std::string& value : values) {
      json += json.size() > 1 ? "," : "";
      base::append_json_text(json, value);
    }
    return token(json + "]");
  }
  std::string_view done() {
    text_ += "}}]";
    return text_;
  }

 private:
  std::span<const std::string_view> keys_;
  std::size_t next_ = 0;
  std::string text_;
};

bool same_value(const VectorPtr& a, const VectorPtr& b) {
  return a && b && a->digest.high == b->digest.high && a->digest.low == b->digest.low;
}

// Follows what the new log sets so far, as far as Triplets need it, and writes the rest.
class Snapshot {
 public:
  Snapshot(const LiveState& state, const ChunkText& chunk_text, const Write& write)
      : state_(state), chunk_text_(chunk_text), write_(write) {}

  Result<void> run() {
    VARVE_TRY(compositions());
    VARVE_TRY(vectors());
    VARVE_TRY(documents());
    VARVE_TRY(relations());
    VARVE_TRY(atoms());
    VARVE_TRY(composites());
    VARVE_TRY(triples());
    VARVE_TRY(rules());
    return derived();
  }

 private:
  Result<void> put(PayloadText& text) { return write_(text.done()); }
  Result<void> put_vector(MutationKind kind, const std::string& id, const VectorPtr& value) {
    PayloadText text(kind);
    return put(text.text(id).vector(value->vector));
  }
  Result<void> put_delete(const std::string& id) {
    PayloadText text(MutationKind::delete_id);
    atoms_.erase(id);
    composed_.erase(id);
    return put(text.text(id));
  }

  // The compositions that something alive came from, directly or through an atom.
  void collect(const VectorPtr& value) {
    if (!value || !value->composed || !needed_.insert(value->composed.get()).second) {
      return;
    }
    for (const VectorPtr& input : value->composed->inputs) {
      collect(input);
    }
  }

  Result<void> set_input(const std::string& atom, const VectorPtr& input) {
    const auto now = atoms_.find(atom);
    if (!input) {
      return now == atoms_.end() ? Result<void>() : put_delete(atom);
    }
    if ((now != atoms_.end() && same_value(now->second, input)) || input->composed) {
      return {};
    }
    atoms_[atom] = input;
    return put_vector(MutationKind::atom, atom, input);
  }

  Result<void> compositions() {
    for (const auto& [id, vector] : state_.vectors) {
      collect(vector.value);
    }
    for (const auto& [id, value] : state_.composites) {
      collect(value);
    }
    for (const auto& [id, value] : state_.atoms) {
      collect(value);
    }
    std::vector<const Composition*> ordered(needed_.begin(), needed_.end());
    std::ranges::sort(ordered, {}, &Composition::order);
    for (const Composition* from : ordered) {
      for (std::size_t i = 0; i < from->parts.size(); ++i) {
        VARVE_TRY(set_input(from->parts[i], from->inputs[i]));
      }
      PayloadText text(MutationKind::triplet);
      VARVE_TRY(
          put(text.text(from->id).text(from->parts[0]).text(from->parts[1]).text(from->parts[2])));
      composed_[from->id] = from;
      for (const std::string& part : from->parts) {
        atoms_.try_emplace(part, nullptr);  // created by it: whatever the engine composes
      }
    }
    return remove_helpers();
  }

  // What the Triplets needed or made, and is not alive.
  Result<void> remove_helpers() {
    std::vector<std::string> dead;
    for (const auto& [id, from] : composed_) {
      const auto alive = state_.composites.find(id);
      if (alive == state_.composites.end() || alive->second->composed.get() != from) {
        dead.push_back(id);
      }
    }
    for (const auto& [id, value] : atoms_) {
      if (!state_.atoms.contains(id)) {
        dead.push_back(id);
      }
    }
    for (const std::string& id : dead) {
      VARVE_TRY(put_delete(id));
    }
    return {};
  }

  Result<void> vectors() {
    for (const auto& [id, vector] : state_.vectors) {
      if (vector.of_chunk || vector.value->composed || state_.composites.contains(id)) {
        continue;
      }
      VARVE_TRY(put_vector(MutationKind::vector, id, vector.value));
      atoms_[id] = vector.value;
    }
    return {};
  }

  Result<void> documents() {
    for (const auto& [id, document] : state_.documents) {
      std::string chunks = document.chunks;
      if (document.has_null_text) {
        VARVE_ASSIGN(auto whole, document_inline(id, document.chunks, chunk_text_));
        chunks = whole.value_or(document.chunks);
      }
      PayloadText text(MutationKind::document);
      VARVE_TRY(put(text.text(id)
                        .token(document.source_uri)
                        .token(document.version)
                        .token(document.metadata)
                        .token(chunks)));
      // A chunk's vector that was replaced or deleted on its own afterwards.
      for (const std::string& chunk : document.chunk_ids) {
        const auto now = state_.vectors.find(chunk);
        if (now == state_.vectors.end()) {
          VARVE_TRY(put_delete(chunk));
        } else if (!now->second.of_chunk && !now->second.value->composed) {
          VARVE_TRY(put_vector(MutationKind::vector, chunk, now->second.value));
          atoms_[chunk] = now->second.value;
        }
      }
    }
    return {};
  }

  Result<void> relations() {
    for (const auto& [edge, relation] : state_.relations) {
      PayloadText text(MutationKind::relation);
      VARVE_TRY(put(text.text(std::get<0>(edge))
                        .text(std::get<1>(edge))
                        .text(std::get<2>(edge))
                        .token(relation.properties)
                        .token(relation.valid_from)
                        .token(relation.valid_to)));
    }
    for (const auto& [name, type] : state_.relation_types) {
      PayloadText text(MutationKind::relation_type);
      VARVE_TRY(put(text.text(name).boolean(type.transitive).boolean(type.symmetric)));
    }
    return {};
  }

  Result<void> atoms() {
    for (const auto& [id, value] : state_.atoms) {
      const auto now = atoms_.find(id);
      if (value->composed || (now != atoms_.end() && same_value(now->second, value))) {
        continue;
      }
      VARVE_TRY(put_vector(MutationKind::atom, id, value));
    }
    return {};
  }

  Result<void> composites() {
    for (const auto& [id, value] : state_.composites) {
      if (!value->composed) {
        VARVE_TRY(put_vector(MutationKind::composite, id, value));
      }
    }
    return {};
  }

  Result<void> triples() {
    for (const auto& [id, list] : state_.triples) {
      const auto made = composed_.find(id);
      for (const LiveTriple& triple : list) {
        if (made != composed_.end() && triple.from.get() == made->second) {
          continue;
        }
        PayloadText text(MutationKind::stored_triple);
        VARVE_TRY(put(text.text(triple.subject_id)
                          .text(triple.relation_id)
                          .text(triple.object_id)
                          .text(id)
                          .boolean(false)));
      }
    }
    return {};
  }

  Result<void> rules() {
    for (const LiveRule& rule : state_.rules) {
      PayloadText text(MutationKind::rule);
      VARVE_TRY(put(text.text(rule.name).texts(rule.input_relations).text(rule.output_relation)));
    }
    return {};
  }

  Result<void> derived() {
    for (const auto& [id, children] : state_.derived) {
      PayloadText text(MutationKind::derived);
      VARVE_TRY(put(text.text(id).texts(children)));
    }
    return {};
  }

  const LiveState& state_;
  const ChunkText& chunk_text_;
  const Write& write_;
  std::set<const Composition*> needed_;
  std::map<std::string, const Composition*> composed_;  // composites that stand in the new log
  std::map<std::string, VectorPtr> atoms_;              // the same; null: made by a Triplet
};

std::unexpected<Error> text_missing(std::string_view document_id, const std::string& chunk_id,
                                    const char* why) {
  return fail(ErrorCode::unsupported, "document-text-missing",
              fmt::format("document {}: the text of chunk {} {}, so that a compacted log would not "
                          "stand by itself",
                          document_id, chunk_id, why));
}

}  // namespace

Result<void> write_snapshot(const LiveState& state, const ChunkText& chunk_text,
                            const std::function<Result<void>(std::string_view payload)>& write) {
  return Snapshot(state, chunk_text, write).run();
}

Result<std::optional<std::string>> document_inline(std::string_view document_id,
                                                   std::string_view chunks_token,
                                                   const ChunkText& chunk_text) {
  std::vector<Chunk> chunks = chunks_of(chunks_token);
  std::vector<std::string> texts(chunks.size());
  bool changed = false;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    std::string_view& token = chunks[i].values[static_cast<std::size_t>(ChunkField::text)];
    if (token != "null") {
      continue;
    }
    const std::string id = text_of(chunks[i].value(ChunkField::id));
    const auto number = [&](ChunkField field) {
      return unsigned_integer(chunks[i].value(field)).value_or(0);
    };
    const std::uint64_t start = number(ChunkField::start_byte);
    const std::uint64_t end = number(ChunkField::end_byte);
    const auto text = chunk_text ? chunk_text(document_id, id, start, end) : std::nullopt;
    if (!text) {
      return text_missing(document_id, id, "is not in the log");
    }
    if (text->size() != end - start) {
      return text_missing(document_id, id, "has another length than the chunk");
    }
    base::append_json_text(texts[i], *text);
    token = texts[i];
    changed = true;
  }
  if (!changed) {
    return std::optional<std::string>();
  }
  std::string out = "[";
  for (const Chunk& chunk : chunks) {
    out += out.size() > 1 ? "," : "";
    encode_chunk(chunk, out);
  }
  return std::optional(out + "]");
}

}  // namespace varve::arena
