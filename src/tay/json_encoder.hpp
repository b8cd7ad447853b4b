// SPDX-License-Identifier: MIT OR Apache-2.0
// Parsed JSON to canonical values.
#pragma once

#include <simdjson.h>

#include "tay/value.hpp"
#include "varve/result.hpp"

namespace varve::tay {

class JsonEncoder {
 public:
  explicit JsonEncoder(Bytes& out) : out_(out), writer_(out) {}
  // Appends one value. In an object with ids, a member `job_id` is 32 hex digits.
  Result<void> element(simdjson::dom::element element, bool with_id);

 private:
  Result<void> object(simdjson::dom::object object, bool with_id);
  Result<void> id(simdjson::dom::element element);

  Bytes& out_;
  ValueWriter writer_;
};

}  // namespace varve::tay
