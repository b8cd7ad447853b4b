// SPDX-License-Identifier: MIT OR Apache-2.0
// The outline of an HMS-TXN-3 payload (section 10.3), as far as it is described. The integer and
// dictionary codings are assumed (LEB128, length-prefixed terms), not confirmed: the outline is for
// looking at, never for interpreting or writing.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "arena/transaction.hpp"

namespace varve::arena {

enum class Txn3Tag : std::uint8_t { json = 0, document = 1, document_delete = 2 };

struct Txn3Element {
  Txn3Tag tag = Txn3Tag::json;
  std::uint64_t offset = 0;          // in the payload, of the tag
  std::uint64_t length = 0;          // with tag and length; of the last, opaque one: up to the end
  std::optional<Mutation> mutation;  // tag 0
};

struct Txn3Outline {
  std::uint64_t mutations = 0;
  std::uint64_t terms = 0;
  std::uint64_t elements_offset = 0;  // where the dictionary ends
  // In order. Binary records have no known length, so the first of them is the last listed.
  std::vector<Txn3Element> elements;
  bool complete = false;  // every mutation was a JSON element, and nothing is left
};

// nullopt if the payload does not look as assumed: then it is opaque.
std::optional<Txn3Outline> outline_txn3(base::ByteSpan payload, const PayloadRules& rules);

}  // namespace varve::arena
