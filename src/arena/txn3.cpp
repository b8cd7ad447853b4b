// SPDX-License-Identifier: MIT OR Apache-2.0
#include "arena/txn3.hpp"

#include "base/cursor.hpp"
#include "base/text_coding.hpp"

namespace varve::arena {

namespace {

// The dictionary: a count, then terms in ascending order, each with its length before it.
bool skip_terms(base::ByteCursor& cursor, std::uint64_t& count) {
  const auto terms = cursor.varint();
  if (!terms || *terms > cursor.remaining()) {
    return false;
  }
  count = *terms;
  std::string_view last;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto length = cursor.varint();
    const auto term = length ? cursor.bytes(*length) : std::nullopt;
    if (!term || !base::is_utf8(base::as_text(*term)) || (i > 0 && base::as_text(*term) <= last)) {
      return false;
    }
    last = base::as_text(*term);
  }
  return true;
}

}  // namespace

std::optional<Txn3Outline> outline_txn3(base::ByteSpan payload, const PayloadRules& rules) {
  base::ByteCursor cursor(payload);
  Txn3Outline out;
  if (!cursor.skip(k_txn3_magic.size())) {
    return std::nullopt;
  }
  const auto count = cursor.varint();
  if (!count || *count == 0 || *count > k_max_mutations || !skip_terms(cursor, out.terms)) {
    return std::nullopt;
  }
  out.mutations = *count;
  out.elements_offset = cursor.position();
  while (out.elements.size() < out.mutations) {
    Txn3Element element;
    element.offset = cursor.position();
    const auto tag = cursor.u8();
    if (!tag || *tag > static_cast<std::uint8_t>(Txn3Tag::document_delete)) {
      return std::nullopt;
    }
    element.tag = static_cast<Txn3Tag>(*tag);
    if (element.tag != Txn3Tag::json) {
      element.length = payload.size() - element.offset;
      out.elements.push_back(element);
      return out;
    }
    const auto length = cursor.varint();
    const auto json = length ? cursor.bytes(*length) : std::nullopt;
    element.mutation.emplace();
    if (!json || decode_mutation(base::as_text(*json), rules, *element.mutation)) {
      return std::nullopt;
    }
    element.length = cursor.position() - element.offset;
    out.elements.push_back(element);
  }
  out.complete = cursor.at_end();
  if (!out.complete) {
    return std::nullopt;
  }
  return out;
}

}  // namespace varve::arena
