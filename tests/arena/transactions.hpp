// SPDX-License-Identifier: MIT OR Apache-2.0
// Random HMS-TXN-2 transactions of all 13 kinds over a small set of ids, so that things are
// replaced, deleted and made again.
#pragma once

#include <fmt/format.h>

#include <random>
#include <string>
#include <vector>

#include "arena/transaction.hpp"

namespace varve::arena::test {

inline std::string txn(const std::string& mutations) {
  return std::string(k_txn2_magic) + "[" + mutations + "]";
}
inline std::string vector_json(std::uint32_t first, std::uint32_t second) {
  return fmt::format(R"({{"dim":4096,"indices":[{},{}]}})", first, second);
}

class Transactions {
 public:
  // With `shared_ids` the same few ids serve as vectors, atoms, composites and triplets in turn;
  // without, each kind has its own.
  Transactions(std::uint32_t seed, bool shared_ids) : random_(seed), shared_(shared_ids) {}

  std::string next() {
    std::string mutations;
    for (std::uint32_t count = 1 + below(3); count > 0; --count) {
      mutations += (mutations.empty() ? "" : ",") + mutation(below(k_mutation_kinds));
    }
    return txn(mutations);
  }

 private:
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }
  std::string id(const char* kind) {
    return fmt::format("\"{}{}\"", shared_ ? "x" : kind, below(6));
  }
  std::string vec() {
    const std::uint32_t first = below(4000);
    return vector_json(first, first + 1 + below(90));
  }
  const char* truth() { return below(2) == 0 ? "false" : "true"; }

  std::string document() {
    const std::string name = fmt::format("doc{}", below(4));
    std::string chunks;
    std::uint32_t at = 0;
    for (std::uint32_t i = 0, count = 1 + below(3); i < count; ++i) {
      const std::string text(3 + below(20), static_cast<char>('a' + below(26)));
      chunks += fmt::format(
          R"({}{{"id":"hms:chunk:{}:{}:{}","text":"{}","start_byte":{},"end_byte":{},"vector":{},)"
          R"("embedding":null,"terms":{{"{}":1}},"word_count":1}})",
          i == 0 ? "" : ",", name.size(), name, i, text, at, at + text.size(), vec(), text);
      at += static_cast<std::uint32_t>(text.size());
    }
    return fmt::format(
        R"({{"Document":{{"id":"{}","source_uri":null,"version":"{}","metadata":{{"n":{}}},)"
        R"("chunks":[{}]}}}})",
        name, below(9), below(9), chunks);
  }

  std::string mutation(std::uint32_t kind) {
    switch (static_cast<MutationKind>(kind)) {
      case MutationKind::vector:
        return fmt::format(R"({{"Vector":{{"id":{},"vector":{}}}}})", id("v"), vec());
      case MutationKind::atom:
        return fmt::format(R"({{"Atom":{{"id":{},"vector":{}}}}})", id("a"), vec());
      case MutationKind::composite:
        return fmt::format(R"({{"Composite":{{"id":{},"vector":{}}}}})", id("c"), vec());
      case MutationKind::stored_triple:
        return fmt::format(R"({{"StoredTriple":{{"subject_id":{},"relation_id":{},"object_id":{},)"
                           R"("composite_id":{},"deleted":false}}}})",
                           id("v"), id("r"), id("v"), id("c"));
      case MutationKind::document:
        return document();
      case MutationKind::derived:
        return derived();
      case MutationKind::delete_document:
        return fmt::format(R"({{"DeleteDocument":{{"id":"doc{}"}}}})", below(4));
      case MutationKind::delete_id:
        return fmt::format(R"({{"Delete":{{"id":{}}}}})", id(below(2) == 0 ? "v" : "t"));
      case MutationKind::triplet:
        return fmt::format(R"({{"Triplet":{{"id":{},"subject":{},"relation":{},"object":{}}}}})",
                           id("t"), id("a"), id("a"), id("a"));
      case MutationKind::relation:
        return fmt::format(
            R"({{"Relation":{{"sourceId":{},"relationType":{},"targetId":{},"properties":null,)"
            R"("validFrom":{}.5,"validTo":0.0}}}})",
            id("v"), id("r"), id("v"), below(100));
      case MutationKind::remove_relation:
        return fmt::format(R"({{"RemoveRelation":{{"source":{},"relation":{},"target":{}}}}})",
                           id("v"), id("r"), id("v"));
      case MutationKind::relation_type:
        return fmt::format(R"({{"RelationType":{{"name":{},"transitive":{},"symmetric":{}}}}})",
                           id("r"), truth(), truth());
      case MutationKind::rule:
        break;
    }
    return fmt::format(R"({{"Rule":{{"name":{},"input_relations":[{}],"output_relation":{}}}}})",
                       id("q"), id("r"), id("r"));
  }

  // The children's vectors, and that they belong together.
  std::string derived() {
    const std::string owner = fmt::format("{}{}", shared_ ? "x" : "v", below(6));
    const std::string child = fmt::format("\"hms:meaning:{}:{}:0\"", owner.size(), owner);
    return fmt::format(
        R"({{"Atom":{{"id":{},"vector":{}}}}},{{"Derived":{{"id":"{}","children":[{}]}}}})", child,
        vec(), owner, child);
  }

  std::mt19937 random_;
  bool shared_;
};

}  // namespace varve::arena::test
