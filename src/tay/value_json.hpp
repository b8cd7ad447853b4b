// SPDX-License-Identifier: MIT OR Apache-2.0
// Values as JSON and back. Integers stay integers, floats always carry a '.' or an 'e', so that
// each value comes back as the bytes it was.
#pragma once

#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "tay/layout.hpp"
#include "varve/result.hpp"

namespace varve::tay {

// Appends the JSON of the value that begins at `value`, which was checked as a whole before. Opaque
// bytes of 16 or 32 (ids, digests) are written as hex digits, others as {"$bytes":"..."}. Returns
// the position behind the value.
const std::byte* append_value_json(std::string& out, const std::byte* value, bool int64_as_string);

// The JSON of a checked value as a whole.
inline std::string value_json(base::ByteSpan value, bool int64_as_string = false) {
  std::string out;
  append_value_json(out, value.data(), int64_as_string);
  return out;
}

// Appends the canonical encoding of a JSON text. A member `job_id` of the outermost object is an
// id of 32 hex digits, if `with_id`. Errors: invalid_argument (not JSON, a number that no value can
// hold, a key twice, too deep).
Result<void> encode_json(std::string_view json, bool with_id, base::Bytes& out);

}  // namespace varve::tay
