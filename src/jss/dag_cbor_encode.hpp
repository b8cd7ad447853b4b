// SPDX-License-Identifier: MIT OR Apache-2.0
// The inverse of dag_cbor.hpp: atproto JSON to the one DAG-CBOR form it stands for.
#pragma once

#include <simdjson.h>

#include <optional>
#include <string_view>

#include "base/bytes.hpp"

namespace varve::jss {

// Appends the DAG-CBOR of a JSON value. Map keys are put in order; {"$link": text} and
// {"$bytes": text} become links and byte strings. Gives what is wrong with the value (floats,
// integers beyond 64 bits, a repeated key, a text that is no CID or base64, nesting deeper than
// the decoder takes, malformed JSON) or nullptr; `out` then holds rubbish behind its old size.
const char* encode_dag_cbor(simdjson::ondemand::value value, base::Bytes& out);

// The same for a text that holds one JSON value. For tests and small inputs: makes its own parser.
const char* encode_dag_cbor(std::string_view json, base::Bytes& out);

}  // namespace varve::jss
