// SPDX-License-Identifier: MIT OR Apache-2.0
// Payloads: strict DAG-CBOR to atproto JSON (section 5.3). What is printed leads back to the same
// bytes (dag_cbor_encode.hpp); whatever would not is refused, and the reader prints bytes instead.
#pragma once

#include <optional>
#include <string>

#include "base/bytes.hpp"
#include "varve/result.hpp"

namespace varve::jss {

// Appends the JSON of a payload, compact, map keys in stored order: links as {"$link":"bafy..."},
// byte strings as {"$bytes":"..."}. On a fault (words in dag_cbor_walk.hpp; the offset counts from
// the payload's start) `out` is as it was. An empty payload is a fault: the caller prints null.
std::optional<Fault> append_dag_cbor_json(std::string& out, base::ByteSpan payload);

// The same check without the JSON.
std::optional<Fault> check_dag_cbor(base::ByteSpan payload);

// True if the payload is the map of an account row that says that the account was deleted: `active`
// is false and `status` is "deleted". Nothing else removes records.
bool is_account_deletion(base::ByteSpan payload);

}  // namespace varve::jss
