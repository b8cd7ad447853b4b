// SPDX-License-Identifier: MIT OR Apache-2.0
// The live state of HMS-TXN-2 transactions (section 10.1, column "effect on live state"). Vectors
// that only the engine can compose are kept as where they came from: the Triplet mutation and the
// atoms that it met.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "arena/transaction.hpp"
#include "base/checksum.hpp"

namespace varve::arena {

struct VectorValue;
using VectorPtr = std::shared_ptr<const VectorValue>;

// A Triplet mutation that made something which is still alive, or led to it.
struct Composition {
  std::string id;
  std::array<std::string, 3> parts;  // subject, relation, object
  // The atoms it composed; null for those it created itself.
  std::array<VectorPtr, 3> inputs;
  std::uint64_t order = 0;  // of the mutation in the log
};

// A sparse vector, or the composition that the engine made (`composed` set, no indices).
// Compared by address: a value that was set twice is two values.
struct VectorValue {
  SparseVector vector;
  std::shared_ptr<const Composition> composed;
  bool created_atom = false;  // composed: an atom that the Triplet created, not its composite
  base::Hash128 digest;       // of what it is, wherever it stands
};

struct LiveVector {
  VectorPtr value;
  bool of_chunk = false;  // set by a document for one of its chunks
};

struct LiveDocument {
  std::string source_uri;  // JSON: a string or null
  std::string version;     // JSON string
  std::string metadata;    // JSON
  std::string chunks;      // JSON array, compact
  std::vector<std::string> chunk_ids;
  bool has_null_text = false;
};

struct LiveTriple {
  std::string subject_id;
  std::string relation_id;
  std::string object_id;
  std::shared_ptr<const Composition> from;  // set if a Triplet made it
};

struct LiveRelation {
  std::string properties;  // JSON: a string or null
  std::string valid_from;  // JSON number
  std::string valid_to;
};

struct LiveRelationType {
  bool transitive = false;
  bool symmetric = false;
};

struct LiveRule {
  std::string name;
  std::vector<std::string> input_relations;
  std::string output_relation;
};

class LiveState {
 public:
  // `dimensions` of the store, for vectors that the engine composed; 0 if unknown.
  explicit LiveState(bool meaning_enabled = true, std::uint64_t dimensions = 0)
      : meaning_enabled_(meaning_enabled), dimensions_(dimensions) {}

  // Applies a mutation that decode_transaction accepted.
  void apply(const Mutation& mutation);

  // Equal for equal states, whatever the order of mutations that led there (rules and the triples
  // of one composite keep theirs).
  base::Hash128 digest() const;

  bool meaning_enabled() const { return meaning_enabled_; }
  std::uint64_t dimensions() const { return dimensions_; }

  std::map<std::string, LiveVector> vectors;
  std::map<std::string, VectorPtr> atoms;
  std::map<std::string, VectorPtr> composites;
  std::map<std::string, LiveDocument> documents;
  std::map<std::string, std::vector<std::string>> derived;         // id -> children
  std::map<std::string, std::vector<LiveTriple>> triples;          // by composite id
  using Edge = std::tuple<std::string, std::string, std::string>;  // source, relation, target
  std::map<Edge, LiveRelation> relations;
  std::map<std::string, LiveRelationType> relation_types;
  std::vector<LiveRule> rules;

 private:
  void drop_children(const std::string& id);
  void remove_everything(const std::string& id);
  void set_document(const Mutation& mutation);
  void remove_document(const std::string& id);
  void compose(const Mutation& mutation);

  bool meaning_enabled_;
  std::uint64_t dimensions_;
  std::uint64_t order_ = 0;
};

// A value for indices that are known.
VectorPtr make_vector(SparseVector vector);

}  // namespace varve::arena
