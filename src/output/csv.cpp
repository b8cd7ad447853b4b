// SPDX-License-Identifier: MIT OR Apache-2.0
#include "output/csv.hpp"

#include <fmt/format.h>

#include <iterator>
#include <string_view>

#include "base/bytes.hpp"
#include "base/in_quotes.hpp"
#include "base/text_coding.hpp"

namespace varve::output {

void append_csv_text(std::string& out, std::string_view text) {
  if (!text.empty() && text.find_first_of(",\"\r\n") == std::string_view::npos) {
    out += text;
    return;
  }
  base::append_in_quotes(out, text);
}

void append_csv_bytes(std::string& out, std::string_view bytes) {
  if (bytes.empty()) {
    out += "\"\"";
    return;
  }
  base::append_base64(out, base::as_bytes(bytes));
}

namespace {

template <class T>
void append_number(std::string& out, const Column& column, std::size_t row) {
  fmt::format_to(std::back_inserter(out), "{}", column.value<T>(row));
}

void append_value(std::string& out, ColumnType type, const Column& column, std::size_t row) {
  if (column.layout == Column::Layout::absent || column.is_null(row)) {
    return;
  }
  switch (type) {
    case ColumnType::boolean:
      out += column.value<std::uint8_t>(row) != 0 ? "true" : "false";
      break;
    case ColumnType::uint8:
      append_number<std::uint8_t>(out, column, row);
      break;
    case ColumnType::uint16:
      append_number<std::uint16_t>(out, column, row);
      break;
    case ColumnType::uint32:
      append_number<std::uint32_t>(out, column, row);
      break;
    case ColumnType::uint64:
      append_number<std::uint64_t>(out, column, row);
      break;
    case ColumnType::int64:
    case ColumnType::timestamp_us:
      append_number<std::int64_t>(out, column, row);
      break;
    case ColumnType::text:
      append_csv_text(out, column.bytes(row));
      break;
    case ColumnType::bytes:
      append_csv_bytes(out, column.bytes(row));
      break;
  }
}

}  // namespace

std::string CsvRenderer::header() const {
  std::string out;
  for (const std::size_t at : columns_) {
    if (!out.empty()) {
      out += ',';
    }
    append_csv_text(out, schema_.fields[at].name);
  }
  return out + "\r\n";
}

void CsvRenderer::map(Batch& batch) const {
  batch.mapped.clear();
  for (std::size_t row = 0; row < batch.rows; ++row) {
    bool first = true;
    for (const std::size_t at : columns_) {
      if (!first) {
        batch.mapped += ',';
      }
      first = false;
      append_value(batch.mapped, schema_.fields[at].type, batch.columns[at], row);
    }
    batch.mapped += "\r\n";
  }
}

}  // namespace varve::output
