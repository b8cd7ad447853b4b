// SPDX-License-Identifier: MIT OR Apache-2.0
// Lines of CONTRACT section 5 read back: what `varve append` takes.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "varve/kladde_store.hpp"

namespace varve::kladde {

class RecordLineParser {
 public:
  // What a line is, before it is added to a transaction.
  struct Line {
    std::optional<Roots> header;         // the line that `cat --full` begins with
    std::optional<std::int64_t> number;  // of its transaction, where it names one
  };

  // Parses a line; the record in it is kept for add(). ErrorCode::invalid_argument, reason "line".
  Result<Line> parse(std::string_view json);
  // Adds the record of the line parsed last.
  Result<void> add(Transaction& transaction) const;

 private:
  simdjson::dom::parser parser_;
  simdjson::dom::element line_;
};

}  // namespace varve::kladde
