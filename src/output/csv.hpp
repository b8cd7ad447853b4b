// SPDX-License-Identifier: MIT OR Apache-2.0
// Rows as CSV (RFC 4180): rendered on the threads that decoded them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "varve/scan.hpp"

namespace varve::output {

// A field of text, in quotes where it needs them or is empty.
void append_csv_text(std::string& out, std::string_view text);
// A field of bytes: base64, `""` for none.
void append_csv_bytes(std::string& out, std::string_view bytes);

// Renders the chosen columns of each batch into Batch::mapped. Lines end in CR LF. A null is an
// empty field and an empty text is `""`, so that the two stay apart; bytes are base64 (standard
// alphabet, no padding), times microseconds since 1970, booleans `true` and `false`.
class CsvRenderer final : public BatchMapper {
 public:
  // `columns` are indexes into the schema's fields; the schema outlives this.
  CsvRenderer(const Schema& schema, std::vector<std::size_t> columns)
      : schema_(schema), columns_(std::move(columns)) {}
  void map(Batch& batch) const override;
  // The line of column names.
  std::string header() const;

 private:
  const Schema& schema_;
  std::vector<std::size_t> columns_;
};

}  // namespace varve::output
