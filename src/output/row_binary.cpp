// SPDX-License-Identifier: MIT OR Apache-2.0
#include "output/row_binary.hpp"

#include <algorithm>

#include "base/bytes.hpp"

namespace varve::output {

namespace {

void append_varint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

template <class T>
void append_integer(std::string& out, T value) {
  std::byte bytes[sizeof value];
  base::store_le(bytes, value);
  out += base::as_text(bytes);
}

void append_value(std::string& out, ColumnType type, const Column& column, std::size_t row) {
  switch (type) {
    case ColumnType::boolean:
    case ColumnType::uint8:
      append_integer(out, column.value<std::uint8_t>(row));
      break;
    case ColumnType::uint16:
      append_integer(out, column.value<std::uint16_t>(row));
      break;
    case ColumnType::uint32:
      append_integer(out, column.value<std::uint32_t>(row));
      break;
    case ColumnType::uint64:
    case ColumnType::int64:
    case ColumnType::timestamp_us:
      append_integer(out, column.value<std::uint64_t>(row));
      break;
    case ColumnType::text:
    case ColumnType::bytes:
      append_varint(out, column.bytes(row).size());
      out += column.bytes(row);
      break;
  }
}

const char* plain_type(ColumnType type) {
  switch (type) {
    case ColumnType::boolean:
    case ColumnType::uint8:
      return "UInt8";
    case ColumnType::uint16:
      return "UInt16";
    case ColumnType::uint32:
      return "UInt32";
    case ColumnType::uint64:
      return "UInt64";
    case ColumnType::int64:
    case ColumnType::timestamp_us:
      return "Int64";
    case ColumnType::text:
    case ColumnType::bytes:
      break;
  }
  return "String";
}

}  // namespace

std::string clickhouse_name(const Field& field) {
  std::string name = field.name;
  std::ranges::replace(name, '.', '_');
  return name;
}

std::string clickhouse_type(const Field& field) {
  const std::string type = plain_type(field.type);
  return field.nullable ? "Nullable(" + type + ")" : type;
}

void RowBinaryMapper::map(Batch& batch) const {
  batch.mapped.clear();
  for (std::size_t row = 0; row < batch.rows; ++row) {
    for (const std::size_t at : columns_) {
      const Field& field = schema_.fields[at];
      const Column& column = batch.columns[at];
      if (field.nullable) {
        batch.mapped += static_cast<char>(column.is_null(row));
        if (column.is_null(row)) {
          continue;
        }
      }
      append_value(batch.mapped, field.type, column, row);
    }
  }
}

}  // namespace varve::output
