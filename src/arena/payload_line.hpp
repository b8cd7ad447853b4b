// SPDX-License-Identifier: MIT OR Apache-2.0
// One JSON line of CONTRACT section 5 as a payload.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "arena/transaction.hpp"
#include "base/bytes.hpp"
#include "varve/result.hpp"

namespace varve::arena {

// Parses line after line into memory that is used again. One a thread.
class PayloadLineParser {
 public:
  // The payload, good until the next call. Mutations become a transaction with its keys in the
  // format's order and without white space; bytes are taken as they are. `frame`, `seq`, `raw_len`,
  // `comp_len` and `at` are ignored, an unknown key is not: a misspelt "payload" would be lost.
  // ErrorCode::invalid_argument says what is wrong.
  Result<base::ByteSpan> parse(std::string_view line);

 private:
  Result<void> take_payload(std::string_view object_token);
  Result<void> take_mutations(std::string_view array_token);

  base::Bytes payload_;
  std::string text_;
  std::string encoded_;
  std::vector<Mutation> mutations_;
};

}  // namespace varve::arena
