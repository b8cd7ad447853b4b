// SPDX-License-Identifier: MIT OR Apache-2.0
#include "output/duckdb_rows.hpp"

#include <cstring>

#include "base/bytes.hpp"
#include "base/json_writer.hpp"
#include "base/text_coding.hpp"
#include "model/column_types.hpp"

namespace varve::output {

namespace {

void fill_bytes(const Field& field, const Column& column, std::size_t first, std::size_t rows,
                DuckdbHandle vector) {
  std::string replacement;
  for (std::size_t i = 0; i < rows; ++i) {
    if (column.is_null(first + i)) {
      continue;
    }
    std::string_view value = column.bytes(first + i);
    if (field.type == ColumnType::text && !base::is_utf8(value)) {
      replacement.clear();
      base::append_json_bytes(replacement, base::as_bytes(value));
      value = replacement;
    }
    duckdb().vector_assign_string_element_len(vector, i, value.data(), value.size());
  }
}

}  // namespace

DuckdbType duckdb_type(ColumnType type) {
  switch (type) {
    case ColumnType::boolean:
      return k_duckdb_boolean;
    case ColumnType::uint8:
      return k_duckdb_uint8;
    case ColumnType::uint16:
      return k_duckdb_uint16;
    case ColumnType::uint32:
      return k_duckdb_uint32;
    case ColumnType::uint64:
      return k_duckdb_uint64;
    case ColumnType::int64:
      return k_duckdb_int64;
    case ColumnType::timestamp_us:
      return k_duckdb_timestamp_utc;
    case ColumnType::text:
      return k_duckdb_text;
    case ColumnType::bytes:
      break;
  }
  return k_duckdb_bytes;
}

void add_duckdb_column(DuckdbHandle bind_info, const Field& field) {
  DuckdbHandle type = duckdb().create_logical_type(duckdb_type(field.type));
  duckdb().bind_add_result_column(bind_info, field.name.c_str(), type);
  duckdb().destroy_logical_type(&type);
}

void fill_duckdb_vector(const Field& field, const Column& column, std::size_t first,
                        std::size_t rows, DuckdbHandle vector) {
  if (column.validity != nullptr || column.layout == Column::Layout::absent) {
    duckdb().vector_ensure_validity_writable(vector);
    std::uint64_t* valid = duckdb().vector_get_validity(vector);
    for (std::size_t i = 0; i < rows; ++i) {
      if (column.layout == Column::Layout::absent || column.is_null(first + i)) {
        valid[i / 64] &= ~(std::uint64_t{1} << (i % 64));
      }
    }
  }
  if (column.layout == Column::Layout::absent) {
    return;
  }
  if (field.type == ColumnType::text || field.type == ColumnType::bytes) {
    fill_bytes(field, column, first, rows, vector);
    return;
  }
  const std::size_t width = model::width_of(field.type);
  base::copy_bytes(duckdb().vector_get_data(vector),
                   static_cast<const char*>(column.values) + first * width, rows * width);
}

}  // namespace varve::output
