// SPDX-License-Identifier: MIT OR Apache-2.0
// What a frame's payload is in a given store: a transaction, an envelope, or bytes of no known
// form; decrypted where a key is known (sections 10 and 11).
#pragma once

#include <optional>
#include <vector>

#include "arena/encryption.hpp"
#include "arena/manifest.hpp"
#include "arena/transaction.hpp"

namespace varve::arena {

struct PayloadContext {
  bool rules_apply = false;  // there is a store.json
  bool encrypted = false;
  PayloadRules rules;
  std::optional<Key> key;

  static PayloadContext of(const std::optional<StoreSchema>& schema) {
    PayloadContext out;
    if (schema) {
      out.rules_apply = true;
      out.encrypted = schema->encrypted;
      out.rules = {schema->dimensions, schema->meaning_enabled};
    }
    return out;
  }
};

enum class PayloadClass : std::uint8_t {
  txn2,
  txn3,       // not interpreted
  encrypted,  // an envelope, and no key
  opaque,     // no known form, which an arena without store.json may hold
  refused,    // `fault` says why
};
inline constexpr std::size_t k_payload_classes = 5;

struct PayloadView {
  PayloadClass what = PayloadClass::opaque;
  base::ByteSpan text;  // the payload, or the transaction in its envelope
  std::optional<PayloadFault> fault;
};

// Scratch memory of one thread.
struct PayloadScratch {
  base::Bytes decrypted;
  std::vector<Mutation> mutations;  // of the last payload that was txn2; point into its text
};

PayloadView look_at_payload(const PayloadContext& context, base::ByteSpan payload,
                            PayloadScratch& scratch);

}  // namespace varve::arena
